import type { Caller } from '../access/caller.ts';
import type { DocumentView } from '../documents/schema.ts';
import { type JobOperations, reprocessJob } from '../jobs/operations.ts';
import { AppError } from '../platform/errors.ts';

/** Outcome for one document. `refused`: its job hasn't finished yet, or its file is gone. */
export interface Reprocessed {
  readonly id: string;
  readonly file: string;
  readonly status: 'queued' | 'refused';
  readonly job_id: string | null;
  readonly reason: string | null;
}

/** Repeat the newest job of each document. A refusal of one doesn't stop the others. */
export async function reprocessDocuments(
  operations: JobOperations,
  caller: Caller,
  documents: readonly DocumentView[],
): Promise<Reprocessed[]> {
  const outcomes: Reprocessed[] = [];
  for (const { id, file_name: name, source_path: path, job_id: jobId } of documents) {
    const about = { id, file: path ?? name };
    try {
      if (jobId === null)
        throw new AppError({ code: 'no_job', status: 409, message: 'it has no job; upload it again' });
      const job = await reprocessJob(operations, caller, jobId);
      outcomes.push({ ...about, status: 'queued', job_id: job.id, reason: null });
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      outcomes.push({ ...about, status: 'refused', job_id: jobId, reason: error.message });
    }
  }
  return outcomes;
}
