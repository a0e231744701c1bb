import type { OriginOf } from '../request-origin.ts';
import { RequestAborts, type RequestMiddleware, RequestState } from '../request-state.ts';

/**
 * Create the id and the state of a request, and set the headers that every response has.
 *
 * @param drain aborted when the deadline of the drain has passed; it aborts the requests in progress
 * @param originOf returns the address of this service, as its clients know it
 */
export function startRequest(drain: AbortSignal | undefined, originOf: OriginOf): RequestMiddleware {
  const aborts = new RequestAborts(drain);
  return (ctx, next) => {
    const state = new RequestState(ctx.req, ctx.res, aborts, originOf);
    ctx.state = state;
    ctx.res.setHeader('X-Request-Id', state.requestId);
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff');
    return next();
  };
}
