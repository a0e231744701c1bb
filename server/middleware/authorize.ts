import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type Caller, hasScope, requireScope, SCOPES } from '../../src/access/caller.ts';
import { AppError, forbidden } from '../../src/platform/errors.ts';
import type { Secret } from '../../src/platform/secret.ts';
import type { RequestMiddleware } from '../request-state.ts';
import type { AccessPolicy } from '../route.ts';

/** Finder of the caller that a request comes from. */
export interface ResolveCaller {
  /** Turns the value of `Authorization` into a caller. Throws AppError 401 for none and for a bad one. */
  (authorization: string | undefined): Promise<Caller>;
  /** Compare with the cron secret; where there is none, nothing is equal to it. */
  readonly isCronSecret?: (presented: string) => boolean;
}

const POLICIES: ReadonlySet<unknown> = new Set<AccessPolicy>([
  'public',
  'loopback_or_platform_admin',
  'cron_or_platform_admin',
  'caller',
  ...SCOPES,
]);

/** Check that a route says who may call it. A route that does not is never mounted. */
export function isAccessPolicy(access: unknown): access is AccessPolicy {
  return POLICIES.has(access);
}

/**
 * Let in whoever the policy of a route lets in, and note the caller; null where nobody has to be known. Throws
 * AppError 401; 403 `scope_missing`, `invalid_cron_secret`.
 */
export function authorize(access: AccessPolicy, resolveCaller: ResolveCaller): RequestMiddleware {
  return async (ctx, next) => {
    ctx.state.caller = await callerOf(access, ctx.req, resolveCaller);
    await next();
  };
}

async function callerOf(
  access: AccessPolicy,
  req: IncomingMessage,
  resolveCaller: ResolveCaller,
): Promise<Caller | null> {
  if (access === 'public') return null;
  if (access === 'loopback_or_platform_admin' && isLocalPeer(req)) return null;
  if (access === 'cron_or_platform_admin') return authorizeCron(req, resolveCaller);
  const caller = await resolveCaller(req.headers.authorization);
  if (access === 'caller') return caller;
  requireScope(caller, access === 'loopback_or_platform_admin' ? 'platform_admin' : access);
  return caller;
}

/** A wrong secret is refused whatever else was sent; an ordinary key is nobody here (contract 5.7, 7.3). */
async function authorizeCron(req: IncomingMessage, resolveCaller: ResolveCaller): Promise<Caller | null> {
  const presented = req.headers['x-cron-secret'];
  if (presented !== undefined) {
    if (resolveCaller.isCronSecret?.(String(presented))) return null;
    throw forbidden('the cron secret is not valid', 'invalid_cron_secret');
  }
  const caller = await resolveCaller(req.headers.authorization);
  if (hasScope(caller, 'platform_admin')) return caller;
  throw new AppError({
    code: 'invalid_credentials',
    status: 401,
    message: 'this needs the header X-Cron-Secret, or a key or token with the scope "platform_admin"',
  });
}

/** Compares with the configured secret in constant time, also in its length. */
export function cronSecretCheck(secret: Secret | null): (presented: string) => boolean {
  if (secret === null) return () => false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = digest(secret.reveal());
  return (presented) => timingSafeEqual(digest(presented), expected);
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
