import type { Tracing } from '../../src/platform/span.ts';
import { runFor } from '../../src/platform/work-context.ts';
import type { OriginOf } from '../request-origin.ts';
import { RequestAborts, type RequestMiddleware, RequestState } from '../request-state.ts';
import { SECURITY_HEADERS } from '../security-headers.ts';
import type { TrustedProxies } from '../trusted-proxies.ts';

/**
 * Create the id and the state of a request, with the headers of every response. All work of the request logs its id and
 * continues its trace, which may have started at the client (header `traceparent`).
 * @param drain signal that aborts running requests when the drain deadline has passed
 * @param proxies proxies trusted to supply the client's address
 * @param originOf returns the address of this service as seen by clients
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
