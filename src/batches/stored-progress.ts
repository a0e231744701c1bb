import { type Lease, LeaseLost } from '../jobs/lease.ts';
import type { HeldJob } from '../jobs/store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { BatchRow } from './batches-store.ts';
import type { BatchContext } from './context.ts';
import { chunkKey, chunkOfKey, chunksPrefix } from './object-keys.ts';
import type { Plan } from './plan.ts';
import { Progress } from './progress.ts';
import { type ChunkUsage, deleteChunks, type GroupChoice, insertChunk, selectChunks } from './progress-store.ts';
import { findStoredChunk } from './store-chunk.ts';

/**
 * Collect the chunks that earlier attempts stored, including those whose row a crash prevented. All chunks of a group
 * must be in one latent space: if the model's projection has changed, only those of the latest space count.
 */
export async function collectStored(
  { sql, objects }: BatchContext,
  lease: Lease,
  batch: BatchRow,
  plan: Plan,
  choices: readonly GroupChoice[],
): Promise<{ progress: Progress; done: Map<number, ChunkUsage> }> {
  const progress = new Progress(plan, choices);
  const done = new Map<number, ChunkUsage>();
  // On the first claim, a batch has no stored chunks.
  if (lease.job.fence <= 1) return { progress, done };
  const rows = await selectChunks(sql, batch.id);
  const lastSpace = new Map<number, string>();
  for (const [number, { space }] of rows) {
    const group = plan.chunks[number]?.group;
    if (group !== undefined && space !== null) lastSpace.set(group, space);
  }
  const stale: number[] = [];
  for (const number of await listStored(objects, batch)) {
    lease.signal.throwIfAborted();
    const chunk = plan.chunks[number];
    const stored = chunk === undefined ? null : await findStoredChunk(objects, batch, chunk);
    const choice = choices[chunk?.group ?? -1];
    const facts = stored?.facts;
    const space = lastSpace.get(chunk?.group ?? -1);
    const isUsable =
      facts !== undefined &&
      choice?.fault === null &&
      facts.dimensions === choice.dimensions &&
      (facts.space === null || space === undefined || facts.space === space);
    if (!isUsable) {
      stale.push(number);
      continue;
    }
    if (chunk && facts.space !== null && space === undefined) lastSpace.set(chunk.group, facts.space);
    const usage = { space: facts.space, used: facts.used, cost: facts.cost };
    progress.count(number, facts);
    if (!rows.has(number)) {
      const record = (db: Sql, held: HeldJob) => insertChunk(db, held, batch.id, { number, usage }, progress.counts);
      // A chunk that was stored right before a crash counts as progress of this attempt.
      await lease.progressedBy(record);
    }
    done.set(number, usage);
    progress.settleStored(number, facts);
  }
  const gone = [...rows.keys()].filter((number) => !done.has(number));
  await forgetChunks({ sql, objects }, lease, batch, [...new Set([...stale, ...gone])]);
  return { progress, done };
}

/** Discard chunks that must be embedded again. @throws LeaseLost */
export async function forgetChunks(
  { sql, objects }: Pick<BatchContext, 'sql' | 'objects'>,
  lease: Lease,
  batch: BatchRow,
  chunks: readonly number[],
): Promise<void> {
  if (chunks.length === 0) return;
  if (!(await deleteChunks(sql, lease.held, batch.id, chunks))) throw new LeaseLost(batch.jobId);
  for (const chunk of chunks) {
    await lease.confirm();
    await objects.delete(chunkKey(batch.orgId, batch.id, chunk));
  }
}

async function listStored(objects: BatchContext['objects'], batch: BatchRow): Promise<number[]> {
  const chunks: number[] = [];
  for await (const { key } of objects.list(chunksPrefix(batch.orgId, batch.id))) {
    const chunk = chunkOfKey(key);
    if (chunk !== null) chunks.push(chunk);
  }
  return chunks;
}
