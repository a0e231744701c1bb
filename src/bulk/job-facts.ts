import { JobError } from '../jobs/lease.ts';
import type { BulkJob } from './store.ts';

export function chunkCountOf(job: Pick<BulkJob, 'inputCount' | 'chunkSize'>): number {
  return Math.ceil(job.inputCount / job.chunkSize);
}

/**
 * Return the number of texts in a chunk of the job. All chunks but the last are full. A result below 1 means that the
 * chunk doesn't exist.
 */
export function textsOf(job: Pick<BulkJob, 'inputCount' | 'chunkSize'>, chunk: number): number {
  return Math.min(job.chunkSize, job.inputCount - chunk * job.chunkSize);
}

export function inputGone(cause?: unknown): JobError {
  const message = 'the stored texts are missing; submit them again';
  return new JobError({ category: 'storage', message, retryable: false }, cause);
}
