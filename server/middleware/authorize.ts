import type { IncomingMessage } from 'node:http';
import { type Caller, requireScope, SCOPES } from '../../src/access/caller.ts';
import type { AccessPolicy } from '../route.ts';

/** Turns the value of `Authorization` into a caller. Throws AppError 401 for none and for a bad one. */
export type ResolveCaller = (authorization: string | undefined) => Promise<Caller>;

const POLICIES: ReadonlySet<unknown> = new Set<AccessPolicy>([
  'public',
  'loopback_or_platform_admin',
  'caller',
  ...SCOPES,
]);

/** Whether a route says who may call it. What does not is never mounted. */
export function isAccessPolicy(access: unknown): access is AccessPolicy {
  return POLICIES.has(access);
}

/**
 * Let in whoever the policy lets in. Returns null where nobody has to be known.
 *
 * @throws AppError 401, 403 `scope_missing`
 */
export async function authorize(
  access: AccessPolicy,
  req: IncomingMessage,
  resolveCaller: ResolveCaller,
): Promise<Caller | null> {
  if (access === 'public') return null;
  if (access === 'loopback_or_platform_admin' && isLocalPeer(req)) return null;
  const caller = await resolveCaller(req.headers.authorization);
  if (access === 'caller') return caller;
  requireScope(caller, access === 'loopback_or_platform_admin' ? 'platform_admin' : access);
  return caller;
}

const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * A peer on this machine that speaks for itself. Behind a proxy on this machine every peer is on loopback, so a
 * request that was passed on is never local, whether proxies are trusted or not: their headers can be forged.
 */
function isLocalPeer(req: IncomingMessage): boolean {
  const address = req.socket.remoteAddress ?? '';
  const isLoopback = address === '::1' || /^(?:::ffff:)?127\./.test(address);
  return isLoopback && FORWARDING_HEADERS.every((name) => req.headers[name] === undefined);
}
