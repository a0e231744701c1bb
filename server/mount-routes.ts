import Router from '@koa/router';
import compose from 'koa-compose';
import { isAccessPolicy } from './middleware/authorize.ts';
import type { RequestContext, RequestMiddleware, RequestState } from './request-state.ts';
import type { Route } from './route.ts';

/**
 * Mount every route behind its own middleware. Paths are exact and case-sensitive. A literal path segment takes
 * precedence over a parameter, whatever the order of `routes`.
 * @throws TypeError for a route without an access policy, declared twice, or whose declaration contradicts itself
 */
export function mountRoutes(
  routes: readonly Route[],
  middlewareOf: (route: Route) => RequestMiddleware[],
): RequestMiddleware {
  const router = new Router<RequestState>({ sensitive: true, strict: true });
  // The router compares every request with every route. This map looks up paths without parameters directly.
  const literal = new Map<string, RequestMiddleware>();
  const seen = new Set<string>();
  for (const route of [...routes].sort(bySpecificity)) {
    refuseContradictions(route);
    for (const identity of [route.operationId, `${route.method} ${route.path.replace(/[:*]\w+/g, ':')}`]) {
      if (seen.has(identity)) throw new TypeError(`two routes are declared as ${identity}`);
      seen.add(identity);
    }
    // The router would compose an array of middleware for every request.
    const middleware: RequestMiddleware = compose<RequestContext>(middlewareOf(route));
    router.register(route.path, [route.method], middleware);
    if (!HAS_PARAMETER.test(route.path)) literal.set(`${route.method} ${route.path}`, middleware);
  }
  const matching = router.routes();
  return (ctx, next) => (literal.get(`${ctx.method} ${ctx.path}`) ?? matching)(ctx, next);
}

const HAS_PARAMETER = /[:*]/;

function refuseContradictions(route: Route): void {
  const name = `route ${route.method} ${route.path}`;
  if (!isAccessPolicy(route.access)) throw new TypeError(`${name} has no access policy`);
  if (HAS_PARAMETER.test(route.path) !== (route.params !== undefined))
    throw new TypeError(`${name}: path and params differ`);
  if ((route.reads === 'none') !== (route.body === undefined)) throw new TypeError(`${name}: reads and body differ`);
  if ((route.access === 'signature') !== (route.reads === 'signed')) {
    throw new TypeError(
      `${name}: a route with the access policy signature must read signed bodies, and no other route may`,
    );
  }
  const hasCaller = !['public', 'signature', 'loopback_or_platform_admin'].includes(route.access);
  if (route.axis && !hasCaller) {
    throw new TypeError(`${name}: without a caller there is no rate to limit`);
  }
  if (route.parse && route.reads === 'none') {
    throw new TypeError(`${name}: only a route that reads a body can parse by itself`);
  }
  if (route.idempotent && !hasCaller) {
    throw new TypeError(`${name}: without a caller nothing can be idempotent`);
  }
}

/** Compare routes: literal segments come before parameters, and parameters before wildcards. */
function bySpecificity(a: Route, b: Route): number {
  const rank = (segment: string | undefined) => (segment?.startsWith('*') ? 2 : segment?.startsWith(':') ? 1 : 0);
  const left = a.path.split('/');
  const right = b.path.split('/');
  for (let i = 0; i < left.length; i++) {
    const difference = rank(left[i]) - rank(right[i]);
    if (difference !== 0) return difference;
  }
  return 0;
}
