import type { JobKindOperations } from '../jobs/handler.ts';
import type { Job } from '../jobs/schema.ts';
import type { JobFailure } from '../jobs/store.ts';
import { conflict } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { settleBooked } from '../usage/booked-reservations.ts';
import { endBatch } from './batches-store.ts';
import { selectUsed } from './progress-store.ts';

/** Job operations of batches. A sweep deletes files of an ended batch that nobody can read. */
export function batchOperations(): JobKindOperations {
  return {
    async onCancelled(tx, job) {
      await settle(tx, job);
      await endBatch(tx, job.orgId, job.id, { status: 'cancelled' });
    },
    async reprocess() {
      throw conflict('a batch cannot be processed again; make a new one of its input file', 'batch_ended');
    },
    async forget() {},
  };
}

/** End the batch of a failed job, in the transaction that fails the job. */
export async function failBatch(tx: Sql, job: Job, { category, message }: JobFailure): Promise<void> {
  await settle(tx, job);
  const errors = [{ code: category, message, param: null, line: null }];
  await endBatch(tx, job.orgId, job.id, { status: 'failed', errors });
}

async function settle(tx: Sql, job: Job): Promise<void> {
  await settleBooked(tx, job.id, await selectUsed(tx, job.id));
}
