import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Network = [Address, number];

/** Decides which addresses outbound requests may connect to. */
export interface AddressGuard {
  /** Return the reason why an IP address is refused, and what to do; null if it is allowed. */
  refusalOf(address: string): string | null;
}

/** Global unicast addresses of IPv6 assigned so far (RFC 4291, section 2.4). */
const GLOBAL_UNICAST: Network = [ipaddr.parse('2000::'), 3];

/**
 * Open a guard that allows public addresses and the networks that the operator lists.
 *
 * It refuses all other special ranges: private, loopback, link-local, shared (carrier-grade NAT), unique local,
 * multicast, reserved, documentation and benchmark addresses, and those that carry an IPv4 address to a translator
 * (NAT64, 6to4, Teredo). An IPv4-mapped address counts as its IPv4 address. An address of this host, even a public one,
 * is allowed only if it is listed individually, not as part of a network, because services on this host trust local
 * connections.
 *
 * @param networks addresses and networks in CIDR form, as `isNetwork` accepts them
 * @param ownAddresses returns the addresses of this host's interfaces, which may change at any time
 */
export function openAddressGuard(
  networks: readonly string[],
  ownAddresses: () => readonly string[] = listOwnAddresses,
): AddressGuard {
  const listed = networks.map(parseNetwork);
  return {
    refusalOf(text) {
      const address = parseAddress(text);
      if (address === null) return `${text} is not an IP address`;
      const matching = listed.filter((network) => contains(network, address));
      if (isOwn(address, ownAddresses())) {
        const isListed = matching.some(([, bits]) => bits === address.toByteArray().length * 8);
        return isListed
          ? null
          : `${text} is an address of this host; to allow it, list exactly this address under networks`;
      }
      if (matching.length > 0 || isPublic(address)) return null;
      return `${text} is in a network of your own or a reserved one; to allow it, list its network under networks`;
    },
  };
}

/** Return the addresses of all network interfaces of this host. */
function listOwnAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
}

/** Parse an address, without its zone. Convert an IPv4-mapped address to its IPv4 address. */
function parseAddress(text: string): Address | null {
  const withoutZone = text.replace(/%.*$/, '');
  return ipaddr.isValid(withoutZone) ? ipaddr.process(withoutZone) : null;
}

function parseNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.process(text);
  return [address, address.toByteArray().length * 8];
}

function contains([network, bits]: Network, address: Address): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

function isOwn(address: Address, own: readonly string[]): boolean {
  const range = address.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  const normalized = address.toString();
  return own.some((text) => parseAddress(text)?.toString() === normalized);
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || contains(GLOBAL_UNICAST, address);
}
