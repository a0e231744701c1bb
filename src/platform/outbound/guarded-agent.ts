import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';

/** Refusal to connect to a host because of its address. */
export class AddressRefused extends Error {
  override readonly name = 'AddressRefused';
  readonly code = 'address_refused';
}

export interface GuardedAgentOptions {
  readonly guard: AddressGuard;
  /** Maximum number of open connections to one origin. */
  readonly connectionsMax: number;
  /** Time limit for establishing a connection, including TLS. */
  readonly connectMs: number;
  /** Lookup of host names; default: the system's. */
  readonly lookup?: LookupFunction;
}

/**
 * Open an HTTP/1.1 client that connects only to addresses that the guard allows. The guard checks every address of a
 * host name in the connection's own lookup, so that the name can't resolve to another address afterwards. The client
 * follows no redirects and uses no proxy.
 */
export function openGuardedAgent({ guard, connectionsMax, connectMs, lookup }: GuardedAgentOptions): Agent {
  const connect = buildConnector({
    allowH2: false,
    timeout: connectMs,
    lookup: guardedLookup(guard, lookup ?? systemLookup),
  });
  return new Agent({
    connections: connectionsMax,
    pipelining: 1,
    connect(options, callback) {
      // Node.js doesn't call the lookup below for a literal address.
      const refusal = isIP(options.hostname) === 0 ? null : guard.refusalOf(options.hostname);
      if (refusal === null) connect(options, callback);
      else callback(new AddressRefused(refusal), null);
    },
  });
}

/** Look up a host name. Fail if any of its addresses is refused. */
function guardedLookup(guard: AddressGuard, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error !== null) return callback(error, []);
      const addresses = typeof found === 'string' ? [{ address: found, family: family ?? isIP(found) }] : found;
      const refusal = addresses.map(({ address }) => guard.refusalOf(address)).find((each) => each !== null);
      const [first] = addresses;
      if (refusal !== undefined)
        return callback(new AddressRefused(`the host ${hostname} has a forbidden address: ${refusal}`), []);
      if (options.all === true || first === undefined) return callback(null, addresses);
      callback(null, first.address, first.family);
    });
  };
}
