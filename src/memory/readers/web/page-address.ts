import { outboundUrlFault } from '../../../platform/outbound/outbound-url.ts';
import { decodePercent } from '../../../platform/percent-encoding.ts';

/** Maximum length of an address to follow. */
const ADDRESS_CHARS_MAX = 2_048;
/** Tracking parameters, which don't change the page. */
const TRACKING = /^(?:utm_\w+|gclid|dclid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_cid|mc_eid|_ga|_gl)$/i;
const UNRESERVED = /^[A-Za-z0-9._~-]$/;

/**
 * Parse and normalise the address of a page: remove fragment, tracking parameters, default port and the dot after the
 * host name, and unify the percent-encoding (RFC 3986, section 6.2.2). Keep the query order, which may matter.
 *
 * @param base address of the linking page
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

/** Decode unnecessary percent-encoding, and write the rest in upper case. */
function oneEncoding(text: string): string {
  return text.replace(/%[0-9a-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return UNRESERVED.test(character) ? character : code.toUpperCase();
  });
}

/** Decode an address's path for patterns and names. */
export function decodedPath(url: URL): string {
  return decodePercent(url.pathname);
}

/**
 * Return the pattern of an address, with `#` for numbers and hexadecimal ids in path and query. The pages of an
 * infinite space share a pattern.
 */
export function patternOf(url: URL): string {
  return `${url.origin}${decodedPath(url)}${decodePercent(url.search)}`.replace(/\b[0-9a-f]*\d[0-9a-f]*\b/gi, '#');
}
