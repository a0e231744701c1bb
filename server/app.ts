import type { RequestListener } from 'node:http';
import Koa from 'koa';
import type { Logger } from '../src/platform/logger.ts';
import type { Metrics } from '../src/platform/metrics.ts';
import { Abortable, Exchange } from './exchange.ts';
import { appErrorOf, familyOfPath, methodNotAllowed, renderError, unknownRoute } from './middleware/errors.ts';
import { type FrameState, type MountSettings, mountRoutes } from './mount-routes.ts';
import type { Route } from './route.ts';

export interface AppSettings extends MountSettings {
  readonly routes: readonly Route[];
  readonly metrics: Pick<Metrics, 'httpRequests' | 'httpSeconds'>;
  /** Believe the last entry of `X-Forwarded-For`; it is used for the access log only. */
  readonly trustProxy: boolean;
  /** Aborts what is under way: the deadline of the drain has passed. */
  readonly drain?: AbortSignal;
}

/**
 * The HTTP application: routes in their frame (request id, access, bodies, validation, errors, metrics, access
 * log). It never listens; `http-server.ts` does.
 *
 * @throws TypeError for a route that is not fit to be mounted
 */
export function createApp(settings: AppSettings): { callback: RequestListener } {
  const { logger, metrics } = settings;
  const app = new Koa<FrameState>({ proxy: settings.trustProxy, maxIpsCount: 1 });
  const abortable = new Abortable(settings.drain);
  app.on('error', (error: unknown) => logger.debug({ err: error }, 'response cut off'));
  app.use(async (ctx, next) => {
    const exchange = new Exchange(ctx.req, ctx.res, abortable);
    ctx.state.exchange = exchange;
    ctx.res.setHeader('X-Request-Id', exchange.requestId);
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff');
    ctx.res.on('close', () => {
      exchange.close();
      recordMetrics(exchange, metrics);
      logAccess(ctx, exchange, logger);
    });
    try {
      await next();
    } catch (error) {
      writeError(ctx, exchange, error, logger);
    }
    // What is still to come of the body would be taken for the next request.
    if (exchange.bodyIsPending && !ctx.res.headersSent) ctx.res.setHeader('Connection', 'close');
  });
  app.use(mountRoutes(settings.routes, settings).routes());
  app.use((ctx: Koa.ParameterizedContext<FrameState> & { matched?: { methods: string[] }[] }) => {
    const methods = new Set(ctx.matched?.flatMap((layer) => layer.methods));
    if (methods.size === 0) throw unknownRoute(ctx.method, ctx.path);
    const allowed = [...methods].sort();
    ctx.res.setHeader('Allow', allowed.join(', '));
    throw methodNotAllowed(ctx.method, allowed);
  });
  return { callback: app.callback() as RequestListener };
}

function writeError(ctx: Koa.Context, exchange: Exchange, thrown: unknown, logger: Logger): void {
  const error = appErrorOf(thrown, exchange);
  if (error.status >= 500) {
    const fault = { err: thrown, request_id: exchange.requestId, operation: exchange.route?.operationId };
    logger[error === thrown ? 'warn' : 'error'](fault, 'request failed');
  }
  if (ctx.res.headersSent || exchange.clientIsGone) return;
  const family = exchange.route?.errors ?? familyOfPath(ctx.req.url ?? '');
  const rendered = renderError(error, family, exchange.requestId);
  ctx.status = rendered.status;
  for (const name in rendered.headers) ctx.res.setHeader(name, rendered.headers[name] ?? '');
  ctx.body = rendered.body;
}

/** 499 is nginx's number for a client that did not wait for its answer. */
function statusOf(exchange: Exchange): number {
  return exchange.clientIsGone ? 499 : exchange.res.statusCode;
}

function recordMetrics(exchange: Exchange, metrics: AppSettings['metrics']): void {
  const operation = exchange.route?.operationId ?? 'unmatched';
  metrics.httpRequests.inc({ operation, status: statusOf(exchange) });
  metrics.httpSeconds.observe({ operation }, (performance.now() - exchange.startedAtMs) / 1000);
}

/** Refused requests at `info`, answered ones at `debug`. Without the query string, which may hold secrets. */
function logAccess(ctx: Koa.Context, exchange: Exchange, logger: Logger): void {
  const status = statusOf(exchange);
  const level = status < 400 ? 'debug' : 'info';
  if (!logger.isLevelEnabled(level)) return;
  const line = {
    request_id: exchange.requestId,
    method: ctx.method,
    path: ctx.path,
    operation: exchange.route?.operationId,
    status,
    ms: Math.round((performance.now() - exchange.startedAtMs) * 10) / 10,
    peer: ctx.ip,
    actor: exchange.actor,
  };
  logger[level](line, 'request');
}
