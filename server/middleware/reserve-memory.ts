import type { BodyMemory } from '../body/body-memory.ts';
import type { RequestMiddleware } from '../request-state.ts';

/** Reserve a body's memory while it arrives, until the handler has finished with it. */
export function reserveMemory(memory: BodyMemory): RequestMiddleware {
  return async (ctx, next) => {
    const { caller } = ctx.state;
    const reservation = memory.open(caller === null ? null : caller.orgId);
    ctx.state.memory = reservation;
    try {
      await next();
    } finally {
      reservation.release();
    }
  };
}
