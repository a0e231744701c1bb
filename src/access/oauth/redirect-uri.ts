import { isLoopbackHost } from '../../platform/networks.ts';

const CHARS_MAX = 2_048;

/** Custom schemes of desktop applications, in addition to those with a period (RFC 8252, section 7.1). */
const APPLICATION_SCHEMES: ReadonlySet<string> = new Set(['cursor:', 'vscode:', 'vscode-insiders:', 'windsurf:']);

/**
 * Return true for a valid redirect address: https, http on loopback, or an application's private scheme, without a
 * fragment (RFC 6749, section 3.1.2) or credentials.
 */
export function isRedirectUri(uri: string): boolean {
  if (uri.length > CHARS_MAX || !URL.canParse(uri) || uri.includes('#')) return false;
  const { protocol, hostname, username, password } = new URL(uri);
  if (username !== '' || password !== '') return false;
  if (protocol === 'https:') return true;
  if (protocol === 'http:') return isLoopbackHost(hostname);
  return protocol.includes('.') || APPLICATION_SCHEMES.has(protocol);
}

/**
 * Return true if a client registered this exact address. Only the port of a loopback address may differ, since an
 * application chooses it on startup (RFC 8252, section 7.3).
 */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (!isRedirectUri(uri)) return false;
  return registered.includes(uri) || registered.some((known) => isSameLoopback(uri, known));
}

function isSameLoopback(uri: string, known: string): boolean {
  if (!uri.startsWith('http://') || !known.startsWith('http://')) return false;
  const one = new URL(uri);
  const other = new URL(known);
  one.port = '';
  other.port = '';
  return isLoopbackHost(one.hostname) && one.href === other.href;
}
