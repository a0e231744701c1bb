import pLimit from 'p-limit';
import { JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import type { BulkContext } from './bulk.ts';
import { settleBulkUsage } from './bulk-jobs.ts';
import { chunkKey, manifestKey } from './object-keys.ts';
import { rowBytesOf } from './result-chunk.ts';
import { EMBED_BULK } from './schema.ts';
import { type BulkJob, deleteFinishedChunks, type FinishedChunk, selectFinishedChunks, updateResult } from './store.ts';

const HEAD_REQUESTS_MAX = 16;

/**
 * Check that every chunk is stored, store the manifest, and finish the job in the transaction that settles its usage.
 * @throws JobError if a stored chunk is missing (the next attempt embeds it again); LeaseLost
 */
export async function finishResult(context: BulkContext, lease: Lease, job: BulkJob): Promise<void> {
  const { sql, objects } = context;
  const chunks = (await selectFinishedChunks(sql, job.id)).sort((a, b) => a.chunk - b.chunk);
  await requireStored(context, lease, job, chunks);
  const [first] = chunks;
  if (!first) throw new Error(`job ${job.id} has no chunks`);
  const models = [...new Set(chunks.flatMap(({ used }) => used.map(({ model }) => model)))].join('+');
  const manifest = {
    job_id: job.id,
    model: models,
    space: first.space,
    task_type: job.taskType,
    dimensions: job.vectorDimensions,
    count: job.inputCount,
    format: 'float32, little-endian, row-major, from byte 0 of each chunk',
    chunks: chunks.map(({ chunk, texts }) => ({ key: chunkKey(job.orgId, job.id, chunk), texts })),
  };
  await objects.put(manifestKey(job.orgId, job.id), Buffer.from(JSON.stringify(manifest)));
  lease.signal.throwIfAborted();
  const own = chunks.filter(({ inherited }) => !inherited);
  const actualCost = own.reduce((sum, { cost }) => sum + cost, 0);
  await sql.begin(async (tx) => {
    await lease.complete(tx, { chunksCount: chunks.length, fileType: EMBED_BULK, actualCost });
    if (!(await updateResult(tx, job.id, models))) throw new Error(`job ${job.id} has unfinished chunks`);
    await settleBulkUsage(tx, job.id);
  });
}

async function requireStored(
  { sql, objects }: BulkContext,
  lease: Lease,
  job: BulkJob,
  chunks: readonly FinishedChunk[],
): Promise<void> {
  const limited = pLimit(HEAD_REQUESTS_MAX);
  const found = await Promise.all(
    chunks.map(({ chunk, texts }) =>
      limited(async () => {
        const stored = await objects.head(chunkKey(job.orgId, job.id, chunk));
        return stored !== null && stored.sizeBytes > texts * rowBytesOf(job.vectorDimensions);
      }),
    ),
  );
  const gone = chunks.filter((_, index) => !found[index]).map(({ chunk }) => chunk);
  if (gone.length === 0) return;
  if (!(await deleteFinishedChunks(sql, lease.held, gone))) throw new LeaseLost(job.id);
  const message = `${gone.length} stored chunks of the result are missing; they will be embedded again`;
  throw new JobError({ category: 'storage', message, retryable: true });
}
