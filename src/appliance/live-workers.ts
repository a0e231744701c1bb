import type { JobKind } from '../jobs/schema.ts';
import { countLiveWorkers, expireDeadWorkers, processHost } from '../jobs/worker-store.ts';
import type { ApplianceBase } from './appliance.ts';

/** Return true if a worker for jobs of a kind is alive, on this host or another. */
export async function hasLiveWorker({ sql, config }: ApplianceBase, kind: JobKind = 'ingest'): Promise<boolean> {
  await expireDeadWorkers(sql, processHost());
  return (await countLiveWorkers(sql, kind, config.workers.leaseMs)) > 0;
}
