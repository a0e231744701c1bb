import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';

/** Note which route matched, and set the headers that all of its answers have, refusals too. */
export function setRoute(route: Route): RequestMiddleware {
  return (ctx, next) => {
    ctx.state.route = route;
    for (const name in route.headers) ctx.res.setHeader(name, route.headers[name] ?? '');
    return next();
  };
}
