import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import type { Engine } from '../../src/documents/schema.ts';
import { queueMove } from '../../src/ingest/reindex/move-job.ts';
import { until } from './until.ts';

const MOVE_MS_MAX = 600_000;

/** Move a bucket's index to another engine, and wait until the move is done. A worker must be running. */
export async function moveBucket(appliance: Appliance, caller: Caller, bucket: string, engine: Engine): Promise<void> {
  const request = { bucket, engine };
  const { job_id: id } = await queueMove(appliance.ingest.reembed, caller, request, { dryRun: false });
  if (id === null) return;
  const isDone = async () => {
    const [job] = await appliance.sql`SELECT status, error_message FROM jobs WHERE id = ${id}`;
    if (job?.['status'] === 'failed') throw new Error(String(job['error_message']));
    return job?.['status'] === 'ready';
  };
  await until(isDone, { withinMs: MOVE_MS_MAX, everyMs: 100, what: `the move of ${bucket}` });
}
