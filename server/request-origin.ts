import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from './trusted-proxies.ts';

/** Function that returns the address of this service for links in a response, without a trailing slash, or null. */
export type OriginOf = (req: IncomingMessage) => string | null;

/**
 * Find the address for links in responses: `base_url` if set; behind a trusted proxy, the address that the client
 * requested; else the address that the server listens on. Without a trusted proxy, client headers aren't trusted.
 */
export function requestOrigin(settings: {
  readonly baseUrl: string | null;
  readonly proxies: TrustedProxies;
  readonly listening: () => string | null;
}): OriginOf {
  const { baseUrl, proxies, listening } = settings;
  if (baseUrl !== null) {
    const fixed = baseUrl.replace(/\/+$/, '');
    return () => fixed;
  }
  return (req) => (proxies.isFrom(req) ? proxiedOrigin(req) : null) ?? listening();
}

/** Build the address from the last entries of the headers, which the trusted proxy wrote. */
function proxiedOrigin(req: IncomingMessage): string | null {
  const host = lastEntry(req.headers['x-forwarded-host']) ?? req.headers.host;
  const scheme = lastEntry(req.headers['x-forwarded-proto'])?.toLowerCase() ?? 'http';
  if (host === undefined || !/^https?$/.test(scheme)) return null;
  const address = `${scheme}://${host}`;
  return URL.canParse(address) && new URL(address).host === host.toLowerCase() ? address : null;
}

function lastEntry(header: string | string[] | undefined): string | undefined {
  const last = header?.toString().split(',').at(-1)?.trim();
  return last === '' ? undefined : last;
}
