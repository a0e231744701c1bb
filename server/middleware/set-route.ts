import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';

/** Store the matched route, and set the headers of all its responses, including refusals. */
export function setRoute(route: Route): RequestMiddleware {
  return (ctx, next) => {
    ctx.state.route = route;
    ctx.set(route.headers ?? {});
    return next();
  };
}
