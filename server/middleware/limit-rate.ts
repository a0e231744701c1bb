import type { Context } from 'koa';
import type { Caller } from '../../src/access/caller.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { RateLimiter } from '../../src/usage/rates.ts';
import type { Axis } from '../../src/usage/schema.ts';

/**
 * Count one request of the caller's organization, and say in the headers where it stands.
 *
 * @throws AppError `rate_limited` (429)
 */
export async function limitRate(
  ctx: Pick<Context, 'res'>,
  rates: RateLimiter,
  caller: Caller,
  axis: Axis,
): Promise<void> {
  const taken = rates.take({ orgId: caller.orgId, plan: caller.plan }, axis);
  const state = taken instanceof Promise ? await taken : taken;
  if (state === null) return;
  ctx.res.setHeader('RateLimit-Limit', String(state.limit));
  ctx.res.setHeader('RateLimit-Remaining', String(state.remaining));
  ctx.res.setHeader('RateLimit-Reset', String(state.resetSeconds));
  if (state.allowed) return;
  throw new AppError({
    code: 'rate_limited',
    status: 429,
    message: `more than ${state.limit} requests a minute on the axis "${axis}"; wait ${state.resetSeconds} s`,
    retryable: true,
    retryAfterSeconds: state.resetSeconds,
  });
}
