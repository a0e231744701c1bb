import type { Tracing } from '../../src/platform/span.ts';
import { runFor } from '../../src/platform/work-context.ts';
import type { OriginOf } from '../request-origin.ts';
import { RequestAborts, type RequestMiddleware, RequestState } from '../request-state.ts';
import { SECURITY_HEADERS } from '../security-headers.ts';
import type { TrustedProxies } from '../trusted-proxies.ts';

/**
 * Create the id and the state of a request, with the headers of every response. All work of the request logs its id and
 * continues its trace, which may have begun at the client (header `traceparent`).
 * @param drain aborted when the deadline of the drain has passed; it aborts the requests in progress
 * @param proxies tell the address of the client behind them
 * @param originOf returns the address of this service, as its clients know it
 */
export function startRequest(
  drain: AbortSignal | undefined,
  proxies: TrustedProxies,
  originOf: OriginOf,
  tracing: Tracing | null,
): RequestMiddleware {
  const aborts = new RequestAborts(drain);
  return (ctx, next) => {
    const state = new RequestState(ctx.req, ctx.res, { aborts, originOf, proxies });
    ctx.state = state;
    const { requestId } = state;
    ctx.set(SECURITY_HEADERS);
    ctx.set('X-Request-Id', requestId);
    if (tracing !== null) {
      const traceParent = ctx.get('traceparent') || null;
      state.span = tracing.startSpan('HTTP', 'server', traceParent, { 'service.request_id': requestId });
    }
    return runFor({ requestId, jobId: null, orgId: null, span: state.span }, next);
  };
}
