import type { FairGate, Place } from '../../src/platform/fair-gate.ts';
import { currentWork, runFor } from '../../src/platform/work-context.ts';
import type { RequestMiddleware } from '../request-state.ts';

/** Make a request wait for a place in its organization's share of the capacity. */
export function shareCapacity(gate: FairGate): RequestMiddleware {
  return (ctx, next) => {
    const { caller } = ctx.state;
    if (caller === null) return next();
    const run = (place: Place) => {
      const work = currentWork();
      return work === undefined ? next() : runFor({ ...work, place }, next);
    };
    return gate.run(caller.orgId, run, () => ctx.state.signal);
  };
}
