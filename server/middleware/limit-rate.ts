import { type RateLimiter, rateLimited } from '../../src/usage/rates.ts';
import type { RequestMiddleware } from '../request-state.ts';
import type { Route } from '../route.ts';

/**
 * Count one request of the caller's organization on the route's axis, and report the rate in the headers. Throws
 * AppError `rate_limited` (429).
 */
export function limitRate(axisOf: NonNullable<Route['axis']>, rates: RateLimiter): RequestMiddleware {
  return async (ctx, next) => {
    const { caller, body } = ctx.state;
    if (caller === null) return next();
    const axis = axisOf(body);
    const taken = rates.take(caller, axis);
    const state = taken instanceof Promise ? await taken : taken;
    if (state !== null) {
      ctx.set('RateLimit-Limit', String(state.limit));
      ctx.set('RateLimit-Remaining', String(state.remaining));
      ctx.set('RateLimit-Reset', String(state.resetSeconds));
      if (!state.allowed) throw rateLimited(axis, state);
    }
    await next();
  };
}
