import type { RefusalBrake } from '../../src/platform/refusal-brake.ts';
import type { RequestMiddleware } from '../request-state.ts';
import { hostOf } from './authorize.ts';

/**
 * Close the connection after a response that didn't wait for the body, since the rest would be read as the next
 * request. Each such response costs a connection and wastes the part of the body already sent. If an organization (or
 * else an address) causes many of them, delay further ones.
 */
export function closeUnread(brake: RefusalBrake): RequestMiddleware {
  return async (ctx, next) => {
    await next();
    const { state, res } = ctx;
    if (!state.bodyIsPending || res.headersSent) return;
    ctx.set('Connection', 'close');
    await brake.brake([state.caller?.orgId ?? hostOf(state.clientAddress)], () => state.signal);
  };
}
