import type { JobKind } from '../jobs/schema.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Session } from './session.ts';

/** Time after Ctrl-C at which the worker of a command returns its jobs to the queue. */
const DRAIN_MS = 2_000;

/** Worker inside a command that waits for jobs while no other worker is alive. */
export interface OwnWorker {
  /** Start it unless another worker is alive. Call this repeatedly, because the other worker may stop. */
  ensure(): Promise<void>;
  stop(): Promise<void>;
}

export function ownWorker(session: Session, signal: AbortSignal, kind: JobKind = 'ingest'): OwnWorker {
  const options = { drainMs: DRAIN_MS };
  const started: Service[] = [];
  return {
    async ensure() {
      if (started.length > 0 || (await session.call('jobs.hasWorker', { kind }))) return;
      const appliance = await session.open();
      // The reaper starts too, because a killed worker may have left leases.
      const worker =
        kind === 'bulk' ? appliance.jobs.worker('embed', options) : appliance.jobs.worker('ingest', options);
      for (const service of [appliance.reaper(), worker]) {
        started.push(service);
        await service.start(signal);
      }
    },
    async stop() {
      for (const service of started.splice(0).reverse()) await service.stop();
    },
  };
}
