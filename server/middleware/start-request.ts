import { RequestAborts, type RequestMiddleware, RequestState } from '../request-state.ts';

/**
 * Give a request its id and its state, and its answer the headers that every answer has.
 *
 * @param drain aborts what is under way: the deadline of the drain has passed
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
