import type { Appliance } from '../appliance/appliance.ts';
import type { JobKind } from '../jobs/schema.ts';
import { countLiveWorkers, expireDeadWorkers, processHost } from '../jobs/worker-registry.ts';
import type { Service } from '../platform/lifecycle.ts';

/** A command's worker hands jobs back this long after Ctrl-C. */
const DRAIN_MS = 2_000;

/** A worker inside a command, for as long as the command waits for jobs and nobody else works on them. */
export interface OwnWorker {
  /** Start it unless a worker is alive anywhere; to be asked again while waiting, since that one may go away. */
  ensure(): Promise<void>;
  stop(): Promise<void>;
}

export function ownWorker(appliance: Appliance, signal: AbortSignal, kind: JobKind = 'ingest'): OwnWorker {
  const options = { drainMs: DRAIN_MS };
  const started: Service[] = [];
  return {
    async ensure() {
      if (started.length > 0 || (await hasLiveWorker(appliance, kind))) return;
      // The reaper too: a worker that was killed before may have left leases.
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

/** Whether somebody works on jobs of a kind, here or on another host. */
export async function hasLiveWorker({ sql, config }: Appliance, kind: JobKind = 'ingest'): Promise<boolean> {
  await expireDeadWorkers(sql, processHost());
  return (await countLiveWorkers(sql, kind, config.workers.leaseMs)) > 0;
}
