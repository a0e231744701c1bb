import pLimit from 'p-limit';
import { jobErrorCategoryOf } from '../embedding/job-error-category.ts';
import { asJobError, JobError, type Lease } from '../jobs/lease.ts';
import type { CountedTokens } from '../models/count-tokens.ts';
import { AppError } from '../platform/errors.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { BulkContext } from './bulk.ts';
import { openStoredInput, type StoredInput } from './input.ts';
import { chunkCountOf, inputGone, textsOf } from './job-facts.ts';
import { inputKey } from './object-keys.ts';
import { type BulkJob, type FinishedChunk, insertFinishedChunk } from './store.ts';
import { storeChunk } from './store-chunk.ts';
import { selectTokenCounts } from './token-counts-store.ts';

/** Chunks in memory per concurrent call: one being embedded, and one being read or stored. */
const CHUNKS_PER_CALL = 2;

/**
 * Embed and store the unfinished chunks, with bounded concurrency. Read the next chunk and store the last one during
 * the calls, so that the provider never waits for the disk.
 *
 * After a failure, start no more chunks, but finish and keep those in progress, for the next attempt or for a job that
 * resumes this one.
 * @param done finished chunks; new ones are added
 * @throws JobError naming the range of texts; LeaseLost; the lease's reason once it is aborted
 */
export async function embedChunks(
  context: BulkContext,
  lease: Lease,
  job: BulkJob,
  done: Map<number, FinishedChunk>,
): Promise<void> {
  const count = chunkCountOf(job);
  const missing = Array.from({ length: count }, (_, chunk) => chunk).filter((chunk) => !done.has(chunk));
  if (missing.length === 0) return;
  const input = await openInput(context, job, count);
  const counted = await selectTokenCounts(context.sql, job.id);
  const fallback = await context.embedder.fallbackForJob(job.orgId, job);
  // A fallback of another dimension must take over the whole job or nothing.
  const exactly = fallback !== null && fallback.dimensions !== job.vectorDimensions;
  const calls = pLimit(context.callsInFlight);
  const queue = missing.values();
  let failure: { reason: unknown } | null = null;
  const workOnQueue = async () => {
    for (const chunk of queue) {
      if (failure !== null || lease.signal.aborted) return;
      try {
        await embedChunk(context, lease, job, { input, counted, exactly, calls, done }, chunk);
      } catch (error) {
        failure ??= { reason: asJobError(error, jobErrorCategoryOf(error), rangeOf(job, chunk)) };
      }
    }
  };
  const workers = Math.min(missing.length, context.callsInFlight * CHUNKS_PER_CALL);
  await Promise.all(Array.from({ length: workers }, workOnQueue));
  lease.signal.throwIfAborted();
  if (failure !== null) throw (failure as { reason: unknown }).reason;
}

interface Work {
  readonly input: StoredInput;
  /** Token counts of all texts of the job. */
  readonly counted: CountedTokens | null;
  /** True if no fallback may embed individual chunks. */
  readonly exactly: boolean;
  readonly calls: <T>(run: () => Promise<T>) => Promise<T>;
  readonly done: Map<number, FinishedChunk>;
}

async function embedChunk(
  context: BulkContext,
  lease: Lease,
  job: BulkJob,
  { input, counted, exactly, calls, done }: Work,
  chunk: number,
): Promise<void> {
  const texts = await input.readChunk(chunk);
  if (texts.length !== textsOf(job, chunk)) throw inputGone();
  const from = chunk * job.chunkSize;
  const tokens = counted?.tokens.slice(from, from + texts.length) ?? null;
  const embedded = await calls(() => {
    lease.signal.throwIfAborted();
    const [first] = done.values();
    return context.embedder.embed({
      texts,
      model: job.backend,
      dimensions: job.vectorDimensions,
      taskType: job.taskType,
      orgId: job.orgId,
      charge: null, // reserved on submission
      // Each chunk has one model, and all chunks share one space.
      comparableWith: first ? { model: job.backend, revision: null, space: first.space } : null,
      isBulk: true,
      isForJob: true,
      exactly,
      counted: counted && tokens && { model: counted.model, tokens },
      signal: lease.signal,
    });
  });
  const facts = await storeChunk(context.objects, lease, job, chunk, embedded);
  freeMemory(embedded.vectors);
  await lease.progressedBy((sql, held) => insertFinishedChunk(sql, held, chunk, facts, false));
  const [first] = done.values();
  done.set(chunk, { chunk, inherited: false, ...facts });
  if (first && first.space !== facts.space) {
    throw new JobError({
      category: 'not_comparable',
      message: 'the model changed while the texts were embedded; the job will be tried again',
      retryable: true,
    });
  }
}

/** Describe the texts of a chunk by first and last index. */
function rangeOf(job: BulkJob, chunk: number): string {
  const from = chunk * job.chunkSize;
  return `texts ${from} to ${from + textsOf(job, chunk) - 1}`;
}

async function openInput({ objects }: BulkContext, job: BulkJob, count: number): Promise<StoredInput> {
  try {
    return await openStoredInput(objects, inputKey(job.orgId, job.id), count);
  } catch (error) {
    const isGone = error instanceof AppError && (error.code === 'object_not_found' || error.code === 'object_damaged');
    throw isGone ? inputGone(error) : error;
  }
}
