import type { FairGate } from '../../src/platform/fair-gate.ts';
import type { RequestMiddleware } from '../request-state.ts';

/** Let a request wait for a place in the share that its organization has of the server's capacity. */
export function shareCapacity(gate: FairGate): RequestMiddleware {
  return (ctx, next) => {
    const { caller } = ctx.state;
    return caller === null ? next() : gate.run(caller.orgId, next, () => ctx.state.signal);
  };
}
