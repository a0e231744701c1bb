import type { RequestMiddleware } from '../request-state.ts';

/** Close the connection after an answer that did not wait for the body: the rest would be taken for the next request. */
export function closeUnread(): RequestMiddleware {
  return async (ctx, next) => {
    await next();
    if (ctx.state.bodyIsPending && !ctx.res.headersSent) ctx.res.setHeader('Connection', 'close');
  };
}
