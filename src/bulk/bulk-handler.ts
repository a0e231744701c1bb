import type { JobHandler } from '../jobs/handler.ts';
import { JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import type { HeldJob } from '../jobs/store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { BulkContext } from './bulk.ts';
import { settleBulkUsage } from './bulk-jobs.ts';
import { embedChunks } from './embed-chunks.ts';
import { finishResult } from './finish-result.ts';
import { chunkCountOf, inputGone } from './job-facts.ts';
import { chunkKey } from './object-keys.ts';
import {
  type BulkJob,
  deleteFinishedChunks,
  type FinishedChunk,
  insertFinishedChunk,
  type SwitchedSpec,
  selectBulkJob,
  selectFinishedChunks,
  updateBackend,
} from './store.ts';
import { findStoredChunk, listStoredChunks } from './store-chunk.ts';

/**
 * Create the handler of bulk jobs: embedding -> indexing. A chunk counts as finished once its row exists, which is
 * written after its object and under the job's fence, so another worker can continue with the missing chunks. Results
 * become readable once the transaction that finishes the job has found all chunks.
 */
export function bulkHandler(context: BulkContext): JobHandler {
  return {
    kind: 'bulk',
    firstPhase: 'embedding',
    run: (lease) => run(context, lease),
    onFailed: (tx, job) => settleBulkUsage(tx, job.id),
  };
}

async function run(context: BulkContext, lease: Lease): Promise<void> {
  const { orgId, id } = lease.job;
  let job = await selectBulkJob(context.sql, orgId, id);
  if (job === null || job.isSwept) throw inputGone();
  const done = await collectFinished(context, lease, job);
  try {
    await embedChunks(context, lease, job, done);
  } catch (error) {
    const fallback = await switchToFallback(context, lease, job, error);
    if (fallback === null) throw error;
    job = { ...job, ...fallback.spec };
    await embedChunks(context, lease, job, fallback.keepsChunks ? done : new Map());
  }
  await lease.advance('indexing');
  await finishResult(context, lease, job);
}

/** Number of failed attempts after which to use the fallback. */
const ATTEMPTS_BEFORE_FALLBACK = 2;

/**
 * Switch a whole job whose model stays unavailable to the routing's fallback. As for a single request, the job then
 * names the fallback and has its default dimension. Embed chunks again if the fallback's vectors aren't comparable or
 * have another dimension. Return null if the failure has another cause or there is no fallback.
 */
async function switchToFallback(
  context: BulkContext,
  lease: Lease,
  job: BulkJob,
  error: unknown,
): Promise<{ spec: SwitchedSpec; keepsChunks: boolean } | null> {
  const isOutage = error instanceof JobError && error.failure.category === 'upstream_unavailable';
  if (!isOutage || lease.job.retryCount < ATTEMPTS_BEFORE_FALLBACK) return null;
  const fallback = await context.embedder.fallbackForJob(job.orgId, job);
  if (fallback === null || fallback.model.id === job.backend) return null;
  const { isComparable, model, dimensions } = fallback;
  const spec = { model: model.id, backend: model.id, vectorDimensions: dimensions };
  const keepsChunks = isComparable && dimensions === job.vectorDimensions;
  if (!keepsChunks) {
    const chunks = (await selectFinishedChunks(context.sql, job.id)).map(({ chunk }) => chunk);
    if (!(await deleteFinishedChunks(context.sql, lease.held, chunks))) throw new LeaseLost(job.id);
    for (const chunk of chunks) {
      await lease.confirm();
      await context.objects.delete(chunkKey(job.orgId, job.id, chunk));
    }
  }
  if (!(await updateBackend(context.sql, lease.held, spec))) throw new LeaseLost(job.id);
  context.logger.warn({ job_id: job.id, from: job.backend, to: model.id }, 'the fallback finishes a bulk job');
  return { spec, keepsChunks };
}

/**
 * Collect the finished chunks: those of earlier attempts, those whose row a crash prevented, and those of the job that
 * this one resumes. All must be in one latent space: if the model's projection has changed, only chunks in the latest
 * space count.
 */
async function collectFinished(context: BulkContext, lease: Lease, job: BulkJob): Promise<Map<number, FinishedChunk>> {
  const { sql, objects } = context;
  const finished = await selectFinishedChunks(sql, job.id);
  const done = new Map(finished.map((chunk) => [chunk.chunk, chunk]));
  const space = finished.at(-1)?.space;
  const stale = finished.filter((chunk) => chunk.space !== space).map(({ chunk }) => chunk);
  if (stale.length > 0) {
    if (!(await deleteFinishedChunks(sql, lease.held, stale))) throw new LeaseLost(job.id);
    for (const chunk of stale) {
      done.delete(chunk);
      await lease.confirm();
      await objects.delete(chunkKey(job.orgId, job.id, chunk));
    }
  }
  // On the first claim, a job has no stored chunks.
  if (lease.job.fence > 1) {
    const stored = await listStoredChunks(objects, job);
    await adopt(context, lease, job, done, job, stored);
  }
  if (job.resumesJobId !== null && done.size < chunkCountOf(job)) {
    const origin = await selectBulkJob(sql, job.orgId, job.resumesJobId);
    const chunks = origin === null ? [] : await selectFinishedChunks(sql, origin.id);
    if (origin !== null) {
      await adopt(
        context,
        lease,
        job,
        done,
        origin,
        chunks.map(({ chunk }) => chunk),
      );
    }
  }
  return done;
}

/** Record stored chunks of `owner` as finished chunks of `job`, if they are in the same latent space. */
async function adopt(
  context: BulkContext,
  lease: Lease,
  job: BulkJob,
  done: Map<number, FinishedChunk>,
  owner: BulkJob,
  chunks: readonly number[],
): Promise<void> {
  const { sql, objects } = context;
  const inherited = owner.id !== job.id;
  for (const chunk of chunks) {
    if (done.has(chunk)) continue;
    lease.signal.throwIfAborted();
    const stored = await findStoredChunk(objects, owner, chunk);
    const [first] = done.values();
    if (stored === null || (first && first.space !== stored.facts.space)) continue;
    if (inherited) await objects.put(chunkKey(job.orgId, job.id, chunk), stored.bytes);
    const record = (db: Sql, held: HeldJob) => insertFinishedChunk(db, held, chunk, stored.facts, inherited);
    // A chunk that was stored right before a crash counts as progress of this attempt.
    if (!inherited) await lease.progressedBy(record);
    else if (await record(sql, lease.held)) lease.worked();
    else throw new LeaseLost(job.id);
    done.set(chunk, { chunk, inherited, ...stored.facts });
  }
}
