import type { ServerResponse } from 'node:http';
import type { Logger } from '../../src/platform/logger.ts';
import type { Metrics } from '../../src/platform/metrics.ts';
import { currentWork, runFor } from '../../src/platform/work-context.ts';
import type { RequestContext, RequestMiddleware, RequestState } from '../request-state.ts';
import type { Route } from '../route.ts';
import { shownPath } from '../shown-path.ts';

export type RequestMetrics = Pick<Metrics, 'httpRequests' | 'httpSeconds' | 'httpInFlight'>;

/** Labels of all requests without a route. Their methods and paths aren't labels, because clients choose them. */
const UNMATCHED = { operation: 'unmatched', method: '', route: '' };

/** Count a request and write it to the access log once its response is finished or cut off. */
export function recordRequest(metrics: RequestMetrics, logger: Logger): RequestMiddleware {
  return (ctx, next) => {
    metrics.httpInFlight.inc();
    // The event belongs to the connection, so remember the request here.
    const work = currentWork();
    const record = () => {
      const { state } = ctx;
      const labels = labelsOf(state.route);
      const status = statusOf(state, ctx.res);
      metrics.httpInFlight.dec();
      metrics.httpRequests.inc({ ...labels, status: String(status) });
      metrics.httpSeconds.observe(labels, (performance.now() - state.startedAtMs) / 1000);
      logAccess(ctx, logger);
      endSpan(state, status);
    };
    ctx.res.on('close', () => runFor(work, record));
    return next();
  };
}

function labelsOf(route: Route | null) {
  if (route === null) return UNMATCHED;
  return { operation: route.operationId, method: route.method, route: route.path };
}

/** End the span of a request. Name it by the route, since the path may contain names of buckets and documents. */
function endSpan({ span, route: matched }: RequestState, status: number): void {
  if (span === null) return;
  const { method, route, operation } = labelsOf(matched);
  span.rename(route === '' ? 'HTTP unmatched' : `${method} ${route}`);
  span.setAttributes({
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': status,
    'service.operation': operation,
  });
  span.end(status >= 500 ? String(status) : null);
}

/** Return the status to record: 499, as in nginx, if the client didn't wait for the response. */
function statusOf(state: RequestState, res: ServerResponse): number {
  return state.clientIsGone ? 499 : res.statusCode;
}

/** Log refused requests at `info` and others at `debug`, without the query string, which may contain secrets. */
function logAccess(ctx: RequestContext, logger: Logger): void {
  const { state } = ctx;
  const status = statusOf(state, ctx.res);
  const level = status < 400 ? 'debug' : 'info';
  if (!logger.isLevelEnabled(level)) return;
  const line = {
    request_id: state.requestId,
    method: ctx.method,
    path: loggedPath(state.route, ctx.path),
    operation: state.route?.operationId,
    status,
    ms: Math.round((performance.now() - state.startedAtMs) * 10) / 10,
    peer: ctx.state.clientAddress,
    actor: state.caller?.actor ?? null,
  };
  logger[level](line, 'request');
}

/** Return the path without secrets: use the pattern of a route with a secret, and shorten a path without a route. */
function loggedPath(route: Route | null, path: string): string {
  if (route === null) return shownPath(path);
  return route.path.includes(':secret') ? route.path : path;
}
