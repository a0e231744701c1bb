import { outboundUrlFault } from '../../../platform/outbound/outbound-url.ts';

/** Longest address that is followed. */
const ADDRESS_CHARS_MAX = 2_048;
/** Query parameters that say where a visitor came from, and change no page. */
const TRACKING = /^(?:utm_\w+|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_cid|mc_eid|_ga|_gl)$/i;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/**
 * Parse the address of a page, and normalise it: without fragment, tracking parameters, default port and the dot at
 * the end of a host name, and with one form of percent-encoding (RFC 3986, section 6.2.2). The order of the query
 * stays, since it may matter.
 *
 * @param base address of the page that has the link
 * @returns null for an address that can't be requested
 */
export function pageAddress(text: string, base?: URL): URL | null {
  if (text.length > ADDRESS_CHARS_MAX) return null;
  const url = URL.parse(text.trim(), base?.href);
  if (url === null || outboundUrlFault(url) !== null || url.href.length > ADDRESS_CHARS_MAX * 2) return null;
  url.hash = '';
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  url.pathname = oneEncoding(url.pathname);
  const query = url.search.slice(1).split('&');
  const kept = query.filter((part) => !TRACKING.test(part.split('=', 1)[0] ?? ''));
  url.search = oneEncoding(kept.join('&'));
  return url;
}

/** Decode characters that need no percent-encoding, and write the others in upper case. */
function oneEncoding(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return UNRESERVED.test(character) ? character : code.toUpperCase();
  });
}

/** Decode the path of an address for patterns and names. */
export function decodedPath(url: URL): string {
  return decoded(url.pathname);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Return the pattern of an address: numbers and hexadecimal ids of its path and query are `#`. Pages that a program
 * makes without end have one pattern.
 */
export function patternOf(url: URL): string {
  return `${url.origin}${decodedPath(url)}${decoded(url.search)}`.replace(/\b[0-9a-f]*\d[0-9a-f]*\b/gi, '#');
}
