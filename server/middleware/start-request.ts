import { RequestAborts, type RequestMiddleware, RequestState } from '../request-state.ts';

/**
 * Create the id and the state of a request, and set the headers that every response has.
 *
 * @param drain aborted when the deadline of the drain has passed; it aborts the requests in progress
 */
export function startRequest(drain: AbortSignal | undefined): RequestMiddleware {
  const aborts = new RequestAborts(drain);
  return (ctx, next) => {
    const state = new RequestState(ctx.req, ctx.res, aborts);
    ctx.state = state;
    ctx.res.setHeader('X-Request-Id', state.requestId);
    ctx.res.setHeader('X-Content-Type-Options', 'nosniff');
    return next();
  };
}
