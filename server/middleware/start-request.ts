import type { OriginOf } from '../request-origin.ts';
import { RequestAborts, type RequestMiddleware, RequestState } from '../request-state.ts';
import { SECURITY_HEADERS } from '../security-headers.ts';

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
    for (const name in SECURITY_HEADERS) ctx.res.setHeader(name, SECURITY_HEADERS[name] as string);
    return next();
  };
}
