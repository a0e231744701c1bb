import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** Proxies whose forwarding headers are trusted. */
export interface TrustedProxies {
  /** Return true if a request comes directly from one of the proxies. */
  isFrom(req: IncomingMessage): boolean;
  /**
   * Return the client's address: the peer's or, behind trusted proxies, the last address in `X-Forwarded-For` that
   * isn't a proxy's.
   */
  clientOf(req: IncomingMessage): string;
}

/** Open the list of trusted proxies. @param proxies addresses, or networks such as `10.0.0.0/8` */
export function trustedProxies(proxies: readonly string[]): TrustedProxies {
  const trusted = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = familyOf(address);
    if (bits === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(bits), family);
  }
  const isTrusted = (address: string) => isIP(address) !== 0 && trusted.check(address, familyOf(address));
  const peerOf = (req: IncomingMessage) => plainAddress(req.socket.remoteAddress ?? '');
  return {
    isFrom: (req) => isTrusted(peerOf(req)),
    clientOf(req) {
      let client = peerOf(req);
      const forwarded = req.headers['x-forwarded-for']?.toString().split(',') ?? [];
      while (isTrusted(client)) {
        const before = plainAddress(forwarded.pop()?.trim() ?? '');
        if (isIP(before) === 0) break;
        client = before;
      }
      return client;
    },
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** Convert an IPv4 address that a socket shows as IPv6 to its plain form. */
function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
