import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import { type Caller, hasScope, requireScope, SCOPES } from '../../src/access/caller.ts';
import type { FailedLogins } from '../../src/access/failed-logins.ts';
import type { Sessions } from '../../src/access/sessions/sessions.ts';
import { readerKey } from '../../src/appliance/live/live-events.ts';
import { AppError, forbidden } from '../../src/platform/errors.ts';
import { Secret } from '../../src/platform/secret.ts';
import { readCookie, SESSION_COOKIE } from '../cookies.ts';
import type { RequestContext, RequestMiddleware } from '../request-state.ts';
import type { AccessPolicy, Route } from '../route.ts';

export interface ResolveCaller {
  /** Resolve the value of `Authorization` to a caller. Throws AppError 401 if it is missing or invalid. */
  (authorization: string | undefined): Promise<Caller>;
  /** Return true for the cron secret; always false if none is configured. */
  readonly isCronSecret?: (presented: string) => boolean;
  /** Sessions of browsers; without them cookies are ignored. */
  readonly sessions?: Pick<Sessions, 'resolve' | 'isCsrfToken'>;
}

const POLICIES: ReadonlySet<unknown> = new Set<AccessPolicy>([
  'public',
  'signature',
  'loopback_or_platform_admin',
  'cron_or_platform_admin',
  'caller',
  ...SCOPES,
]);

/** Return true for a known access policy. A route without one is never mounted. */
export function isAccessPolicy(access: unknown): access is AccessPolicy {
  return POLICIES.has(access);
}

/**
 * Check a request against its route's access policy, and store the caller (null if the policy needs none). Throws
 * AppError 401; 403 `scope_missing`, `invalid_cron_secret`, `csrf_token_invalid`, `cross_site_request`; 429
 * `too_many_failed_logins`.
 */
export function authorize(
  { access, streams }: Pick<Route, 'access' | 'streams'>,
  resolveCaller: ResolveCaller,
  failedLogins: FailedLogins,
): RequestMiddleware {
  return async (ctx, next) => {
    await braked(ctx, failedLogins, async () => {
      ctx.state.caller = await callerOf(access, ctx, resolveCaller);
    });
    if (streams === true) ctx.state.recheck = () => hasSameRights(ctx, resolveCaller);
    await next();
  };
}

/** Resolve a request's credential again. Return false if it is now refused or its rights have changed. */
async function hasSameRights({ req, state }: RequestContext, resolveCaller: ResolveCaller): Promise<boolean> {
  const { caller, session } = state;
  const { sessions } = resolveCaller;
  try {
    const now =
      session !== null && sessions !== undefined
        ? await sessions.resolve(session.reveal(), { isUse: false })
        : await resolveCaller(req.headers.authorization);
    return caller !== null && readerKey(now) === readerKey(caller);
  } catch (error) {
    if (error instanceof AppError) return error.retryable;
    throw error;
  }
}

/**
 * Delay refusals, and replies that count as attempts, of a route that checks a credential in its body. Throws AppError
 * 429 `too_many_failed_logins`.
 */
export function brakeSignIns(failedLogins: FailedLogins): RequestMiddleware {
  return async (ctx, next) => {
    await braked(ctx, failedLogins, next);
    if (ctx.state.reply?.countsAsAttempt) await failedLogins.brake(sourcesOf(ctx), () => ctx.state.signal);
  };
}

async function braked(ctx: RequestContext, failedLogins: FailedLogins, run: () => Promise<unknown>): Promise<void> {
  try {
    await run();
  } catch (error) {
    if (isFailedLogin(error)) await failedLogins.brake(sourcesOf(ctx), () => ctx.state.signal);
    throw error;
  }
}

const FAILED_LOGINS: ReadonlySet<string> = new Set([
  'invalid_credentials',
  'invalid_cron_secret',
  'invalid_client',
  'invalid_grant',
  'invitation_invalid',
  'reset_invalid',
]);

/** Return true for the refusal of credentials that may have been guessed. */
function isFailedLogin(error: unknown): boolean {
  return error instanceof AppError && FAILED_LOGINS.has(error.code);
}

/** Return the part of an address that identifies a host. In IPv6, a host has a whole /64. */
export function hostOf(ip: string): string {
  return ip.includes('.') ? ip : ip.split(':').slice(0, 4).join(':');
}

/** List the sources of a refused request: its address and key id. */
function sourcesOf({ req, state }: RequestContext): string[] {
  const address = hostOf(state.clientAddress);
  const [, keyId] = /^bearer +svc_([A-Za-z0-9]{1,16})_/i.exec(req.headers.authorization ?? '') ?? [];
  return keyId === undefined ? [`address:${address}`] : [`address:${address}`, `key:${keyId}`];
}

async function callerOf(
  access: AccessPolicy,
  ctx: RequestContext,
  resolveCaller: ResolveCaller,
): Promise<Caller | null> {
  if (access === 'public' || access === 'signature') return null;
  if (access === 'loopback_or_platform_admin' && isLocalPeer(ctx.req)) return null;
  if (access === 'cron_or_platform_admin') return authorizeCron(ctx, resolveCaller);
  const caller = await identify(ctx, resolveCaller);
  if (access === 'caller') return caller;
  requireScope(caller, access === 'loopback_or_platform_admin' ? 'platform_admin' : access);
  return caller;
}

/** Find the caller by the `Authorization` header, or else by the session cookie. */
async function identify({ req, state }: RequestContext, resolveCaller: ResolveCaller): Promise<Caller> {
  const { authorization } = req.headers;
  const { sessions } = resolveCaller;
  const session =
    authorization === undefined && sessions !== undefined ? readCookie(state.cookies, SESSION_COOKIE) : null;
  if (session === null || sessions === undefined) return resolveCaller(authorization);
  refuseCrossSite(req);
  // A page's periodic requests don't keep the session alive.
  const caller = await sessions.resolve(session, { isUse: req.headers['x-background'] === undefined });
  if (
    !SAFE_METHODS.has(req.method ?? '') &&
    !sessions.isCsrfToken(session, String(req.headers['x-csrf-token'] ?? ''))
  ) {
    throw forbidden(
      'the CSRF token is missing or wrong: send the csrf_token of the session in the header X-CSRF-Token',
      'csrf_token_invalid',
    );
  }
  state.session = new Secret(session);
  return caller;
}

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/**
 * Refuse a session request that a page of another origin triggered. `SameSite` and the CSRF token also prevent this. In
 * browsers that send `Sec-Fetch-Site`, this check is independent of both.
 * @throws AppError `cross_site_request` (403)
 */
export function refuseCrossSite(req: IncomingMessage): void {
  const site = req.headers['sec-fetch-site'];
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw forbidden('a page of another site cannot use the session of this browser', 'cross_site_request');
}

/**
 * Refuse a wrong secret even if the request has a valid key. Refuse a key without `platform_admin` with 401 (contract
 * 5.7, 7.3).
 */
async function authorizeCron(ctx: RequestContext, resolveCaller: ResolveCaller): Promise<Caller | null> {
  const presented = ctx.req.headers['x-cron-secret'];
  if (presented !== undefined) {
    if (resolveCaller.isCronSecret?.(String(presented))) return null;
    throw forbidden('the cron secret is not valid', 'invalid_cron_secret');
  }
  const caller = await identify(ctx, resolveCaller);
  if (hasScope(caller, 'platform_admin')) return caller;
  throw new AppError({
    code: 'invalid_credentials',
    status: 401,
    message: 'this needs the header X-Cron-Secret, or a key or token with the scope "platform_admin"',
  });
}

/** Create a constant-time comparison with the configured secret. The length doesn't matter either. */
export function cronSecretCheck(secret: Secret | null): (presented: string) => boolean {
  if (secret === null) return () => false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = digest(secret.reveal());
  return (presented) => timingSafeEqual(digest(presented), expected);
}

const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'];

/**
 * Return true for a peer on this machine that sends its own request. Behind a proxy on this machine, every peer is on
 * loopback, so a forwarded request is never local. This ignores which proxies are trusted, because headers can be
 * forged. A foreign `Host` comes from a page in a local browser whose name was made to resolve to this machine.
 */
function isLocalPeer(req: IncomingMessage): boolean {
  const address = req.socket.remoteAddress ?? '';
  const isLoopback = address === '::1' || /^(?:::ffff:)?127\./.test(address);
  return (
    isLoopback && isOwnHost(req.headers.host) && FORWARDING_HEADERS.every((name) => req.headers[name] === undefined)
  );
}

/** Return true for a `Host` that is `localhost` or an IP address, which no other site can have. */
function isOwnHost(host: string | undefined): boolean {
  if (host === undefined || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return hostname === 'localhost' || hostname.startsWith('[') || isIPv4(hostname);
}
