import type { RequestMiddleware } from '../request-state.ts';

/** Close the connection after a response that did not wait for the body: its rest would be read as the next request. */
export function closeUnread(): RequestMiddleware {
  return async (ctx, next) => {
    await next();
    if (ctx.state.bodyIsPending && !ctx.res.headersSent) ctx.res.setHeader('Connection', 'close');
  };
}
