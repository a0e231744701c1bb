import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';

/** Call the route's handler, the last step. */
export function handle(route: Route): RequestMiddleware {
  return async (ctx) => {
    ctx.state.reply = await route.handle(ctx.state);
  };
}
