import type { IncomingMessage } from 'node:http';
import { hostname, networkInterfaces } from 'node:os';
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import { forbidden } from '../../platform/errors.ts';
import { isLoopbackHost } from '../../platform/networks.ts';

/** Pattern of a host name or address with an optional port, without other parts of a URL. */
const HOST = /^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

/** Check of `Host` and `Origin`, which blocks web pages that reach this server through DNS rebinding. */
export interface AddressCheck {
  /** @throws AppError `host_not_allowed`, `origin_not_allowed` (403) */
  require(req: IncomingMessage): void;
}

/**
 * Allow the names of this server: loopback names if it listens there, else this machine's names, plus those in the
 * settings. Requests without `Origin` don't come from a web page.
 */
export function checkAddresses(settings: {
  readonly host: string;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
}): AddressCheck {
  const own = isLoopbackHost(settings.host) ? localhostAllowedHostnames() : namesOf(settings.host);
  const hosts = [...own, ...settings.allowedHosts.map(bracketed)];
  const origins = settings.allowedOrigins.filter((entry) => entry.includes('://')).map((entry) => entry.toLowerCase());
  const originHosts = [...hosts, ...settings.allowedOrigins.filter((entry) => !entry.includes('://')).map(bracketed)];
  return {
    require({ headers: { host, origin } }) {
      if (!HOST.test(host ?? '') || !validateHostHeader(host, hosts).ok) {
        throw forbidden(
          'the name in the header Host is not allowed; add it to SERVICE_MCP_ALLOWED_HOSTS',
          'host_not_allowed',
        );
      }
      const byOrigin = validateOriginHeader(origin, originHosts);
      if (!byOrigin.ok && !origins.includes(origin?.toLowerCase() ?? '')) {
        throw forbidden(
          'web pages of this origin may not use this tool server; to allow it, add it to SERVICE_MCP_ALLOWED_ORIGINS',
          'origin_not_allowed',
        );
      }
    },
  };
}

function namesOf(host: string): string[] {
  const isWildcard = host === '0.0.0.0' || host === '::';
  if (!isWildcard) return [bracketed(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list?.map(({ address }) => address) ?? []);
  return [...localhostAllowedHostnames(), hostname().toLowerCase(), ...addresses.map(bracketed)];
}

/** Put an IPv6 address in brackets, as in `Host`. */
function bracketed(host: string): string {
  const name = host.toLowerCase();
  return name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
}
