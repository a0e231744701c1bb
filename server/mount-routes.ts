import { webcrypto } from 'node:crypto';
import { Readable } from 'node:stream';
import Router, { type RouterContext } from '@koa/router';
import type { Caller } from '../src/access/caller.ts';
import { invalidRequest } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/logger.ts';
import type { RateLimiter } from '../src/usage/rates.ts';
import type { BodyGate } from './body-gate.ts';
import { announcesBody, type Exchange } from './exchange.ts';
import { authorize, isAccessPolicy, type ResolveCaller } from './middleware/authorize.ts';
import { type Idempotency, idempotencyKeyOf, runIdempotent } from './middleware/idempotency.ts';
import { limitRate } from './middleware/limit-rate.ts';
import { type BodyLimits, type BodyReader, bodyReaderOf, NO_BODY, type ReceivedBody } from './middleware/read-body.ts';
import { removeUpload } from './middleware/read-upload.ts';
import { validate } from './middleware/validate.ts';
import type { Route, RouteContext, RouteReply } from './route.ts';

/** What the frame keeps at a request, in `ctx.state`. */
export interface FrameState {
  exchange: Exchange;
}

type FrameContext = RouterContext<FrameState>;

export interface MountSettings {
  readonly resolveCaller: ResolveCaller;
  readonly idempotency: Idempotency;
  readonly rates: RateLimiter;
  readonly gate: BodyGate;
  readonly logger: Logger;
  readonly limits: BodyLimits;
}

/**
 * A router with every route mounted, each behind its own access policy, body reader and schemas. Exact and
 * case-sensitive paths; a literal path segment wins over a parameter whatever the order of `routes`.
 *
 * @throws TypeError for a route without an access policy, declared twice, or whose declaration contradicts itself
 */
export function mountRoutes(routes: readonly Route[], settings: MountSettings): Router<FrameState> {
  const router = new Router<FrameState>({ sensitive: true, strict: true });
  const seen = new Set<string>();
  for (const route of [...routes].sort(bySpecificity)) {
    refuseContradictions(route);
    for (const identity of [route.operationId, `${route.method} ${route.path.replace(/[:*]\w+/g, ':')}`]) {
      if (seen.has(identity)) throw new TypeError(`two routes are declared as ${identity}`);
      seen.add(identity);
    }
    const readBody = bodyReaderOf(route, settings.limits);
    router.register(route.path, [route.method], (ctx: FrameContext) => serve(route, readBody, settings, ctx));
  }
  return router;
}

function refuseContradictions(route: Route): void {
  const name = `route ${route.method} ${route.path}`;
  if (!isAccessPolicy(route.access)) throw new TypeError(`${name} has no access policy`);
  if (/[:*]/.test(route.path) !== (route.params !== undefined)) throw new TypeError(`${name}: path and params differ`);
  if ((route.reads === 'none') !== (route.body === undefined)) throw new TypeError(`${name}: reads and body differ`);
  if (route.axis && (route.access === 'public' || route.access === 'loopback_or_platform_admin')) {
    throw new TypeError(`${name}: without a caller there is no rate to limit`);
  }
  if (route.parse && route.reads !== 'json') {
    throw new TypeError(`${name}: only a route that reads JSON can parse by itself`);
  }
  if (route.idempotent && (route.access === 'public' || route.access === 'loopback_or_platform_admin')) {
    throw new TypeError(`${name}: without a caller nothing can be idempotent`);
  }
}

/** Literal segments before parameters before wildcards. */
function bySpecificity(a: Route, b: Route): number {
  const rank = (segment: string | undefined) => (segment?.startsWith('*') ? 2 : segment?.startsWith(':') ? 1 : 0);
  const left = a.path.split('/');
  const right = b.path.split('/');
  for (let i = 0; i < left.length; i++) {
    const difference = rank(left[i]) - rank(right[i]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** The order of a request behind its route: caller, policy, body, schemas, idempotency, handler, reply. */
async function serve(
  route: Route,
  readBody: BodyReader | null,
  settings: MountSettings,
  ctx: FrameContext,
): Promise<void> {
  const { exchange } = ctx.state;
  exchange.route = route;
  for (const name in route.headers) ctx.res.setHeader(name, route.headers[name] ?? '');
  let caller: Caller | null = null;
  if (route.access !== 'public') {
    caller = await authorize(route.access, ctx.req, settings.resolveCaller);
    exchange.actor = caller?.actor ?? null;
  }
  const leave =
    readBody === null || route.reads === 'upload' ? null : settings.gate.enter(bodyBytesOf(ctx, route, settings));
  try {
    const received = readBody === null ? NO_BODY : await readBody(ctx);
    try {
      writeReply(ctx, await answer(route, ctx, caller, received, settings));
    } finally {
      if (received.file !== null) await removeUpload(received.file);
    }
  } finally {
    leave?.();
  }
}

/** What a body will take in memory: as announced, or as much as it may. Beyond the limit it is refused anyway. */
function bodyBytesOf(ctx: FrameContext, route: Route, { limits }: MountSettings): number {
  const limitBytes = route.bodyLimitBytes ?? limits.bodyBytes;
  const announced = ctx.req.headers['content-length'];
  if (announced === undefined) return announcesBody(ctx.req) ? limitBytes : 0;
  return Number(announced) > limitBytes ? 0 : Number(announced);
}

async function answer(
  route: Route,
  ctx: FrameContext,
  caller: Caller | null,
  received: ReceivedBody,
  settings: MountSettings,
): Promise<RouteReply> {
  const { exchange } = ctx.state;
  const url = ctx.req.url ?? '';
  // PostgreSQL takes no NUL in a text, and no name of ours has one.
  if (url.includes('%00')) throw invalidRequest('the URL must not contain NUL');
  const params = route.params === undefined ? undefined : validate(route.params, ctx.params);
  const query = route.query === undefined ? undefined : validate(route.query, parseQuery(url));
  const key = route.idempotent === true ? idempotencyKeyOf(ctx.req.headers['idempotency-key']) : null;
  // Before the body is parsed, which may use it up.
  const sent = key === null ? undefined : await identityOf(route, received);
  const body = await bodyOf(route, received, exchange);
  if (route.axis !== undefined && caller !== null) await limitRate(ctx, settings.rates, caller, route.axis(body));
  const context = new Context(exchange, { params, query, body, file: received.file, caller });
  if (key === null || caller === null) return route.handle(context);
  const { operationId } = route;
  const identity = { operationId, params, query, body: sent, file: received.file };
  const request = { caller, key, identity, logger: settings.logger };
  return runIdempotent(settings.idempotency, request, () => route.handle(context));
}

/**
 * What a handler is given. A class, for its accessor: V8 makes a hidden class of its own for every literal with a
 * getter, and those are collected with the whole heap only, each with its request.
 */
class Context implements RouteContext<unknown, unknown, unknown> {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
  readonly file: ReceivedBody['file'];
  readonly caller: Caller | null;
  readonly #exchange: Exchange;

  constructor(exchange: Exchange, parts: Pick<Context, 'params' | 'query' | 'body' | 'file' | 'caller'>) {
    this.#exchange = exchange;
    this.params = parts.params;
    this.query = parts.query;
    this.body = parts.body;
    this.file = parts.file;
    this.caller = parts.caller;
  }

  get requestId(): string {
    return this.#exchange.requestId;
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}

/** What of the body tells one request from another: itself, or the SHA-256 of its bytes where nobody parsed them here. */
async function identityOf(route: Route, { body }: ReceivedBody): Promise<unknown> {
  if (route.parse === undefined) return body;
  // Off the event loop: such bodies are large.
  const digest = await webcrypto.subtle.digest('SHA-256', body as Buffer);
  return { sha256: Buffer.from(digest).toString('hex') };
}

async function bodyOf(route: Route, received: ReceivedBody, exchange: Exchange): Promise<unknown> {
  if (route.parse !== undefined) return route.parse(received.body as Buffer, exchange.signal);
  return route.body === undefined ? undefined : validate(route.body, received.body);
}

/** Query parameters; one that came more than once is an array. */
function parseQuery(url: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = Object.create(null);
  const mark = url.indexOf('?');
  if (mark === -1) return query;
  for (const [name, value] of new URLSearchParams(url.slice(mark + 1))) {
    const earlier = query[name];
    query[name] = earlier === undefined ? value : [earlier, value].flat();
  }
  return query;
}

function writeReply(ctx: FrameContext, reply: RouteReply): void {
  const { res } = ctx;
  if (res.headersSent || ctx.state.exchange.clientIsGone) {
    if (reply.body instanceof Readable) reply.body.destroy();
    return;
  }
  const { body } = reply;
  ctx.status = reply.status ?? (body === undefined ? 204 : 200);
  for (const name in reply.headers) res.setHeader(name, reply.headers[name] ?? '');
  if (body === undefined) {
    ctx.body = null;
  } else if (Buffer.isBuffer(body) || body instanceof Readable) {
    res.setHeader('Content-Type', reply.type ?? 'application/octet-stream');
    ctx.body = body;
    if (reply.freeBody) res.once('finish', reply.freeBody);
  } else {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
    ctx.body = JSON.stringify(body);
  }
}
