import pLimit from 'p-limit';
import { jobErrorCategoryOf } from '../embedding/job-error-category.ts';
import { asJobError, JobError, type Lease } from '../jobs/lease.ts';
import { type BatchRow, selectBatch } from './batches-store.ts';
import type { BatchContext } from './context.ts';
import { embedTexts } from './embed-texts.ts';
import type { Plan, PlannedChunk, PlannedText } from './plan.ts';
import type { Progress } from './progress.ts';
import { type ChunkUsage, type GroupChoice, insertChunk } from './progress-store.ts';
import { readTexts } from './read-texts.ts';
import { storeChunk } from './store-chunk.ts';

/** Chunks in memory per concurrent call: one being embedded, and one being read or stored. */
const CHUNKS_PER_CALL = 2;

/** State of one attempt at a batch. */
export interface Attempt {
  readonly batch: BatchRow;
  readonly plan: Plan;
  readonly choices: readonly GroupChoice[];
  readonly progress: Progress;
  /** Stored chunks by number. New ones are added. */
  readonly done: Map<number, ChunkUsage>;
}

/**
 * Embed and store the missing chunks, with bounded concurrency. Start no more chunks after a failure, a cancellation,
 * or the end of the completion window, but finish and keep those in progress.
 * @throws JobError naming the lines of the chunk; LeaseLost; the lease's reason once it is aborted
 */
export async function embedChunks(context: BatchContext, lease: Lease, attempt: Attempt): Promise<void> {
  const { plan, choices, done, batch } = attempt;
  const isMissing = ({ number, group }: PlannedChunk) => choices[group]?.fault === null && !done.has(number);
  const missing = plan.chunks.filter(isMissing);
  const exactly = await fixedGroups(context, attempt);
  const calls = pLimit(context.callsInFlight);
  const queue = missing.values();
  let failure: { reason: unknown } | null = null;
  const workOnQueue = async () => {
    for (const chunk of queue) {
      if (failure !== null || lease.signal.aborted || (await isOver(context, batch))) return;
      try {
        await embedChunk(context, lease, attempt, chunk, { calls, exactly: exactly.has(chunk.group) });
      } catch (error) {
        failure ??= { reason: asJobError(error, jobErrorCategoryOf(error)) };
      }
    }
  };
  const workers = Math.min(missing.length, context.callsInFlight * CHUNKS_PER_CALL);
  await Promise.all(Array.from({ length: workers }, workOnQueue));
  lease.signal.throwIfAborted();
  if (failure !== null) throw (failure as { reason: unknown }).reason;
}

/** Find groups whose fallback has another dimension, and so must take over all of the group's chunks or none. */
async function fixedGroups({ embedder }: BatchContext, { batch, plan, choices }: Attempt): Promise<Set<number>> {
  const fixed = new Set<number>();
  for (const [group, choice] of choices.entries()) {
    if (choice.fault !== null) continue;
    const dimensions = plan.groups[group]?.dimensions ?? null;
    const fallback = await embedder.fallbackForJob(batch.orgId, { model: choice.backend, dimensions });
    if (fallback !== null && fallback.dimensions !== choice.dimensions) fixed.add(group);
  }
  return fixed;
}

/** Return true once a batch is being cancelled, its completion window is over, or it is deleted. */
async function isOver({ sql }: BatchContext, { orgId, id }: BatchRow): Promise<boolean> {
  const batch = await selectBatch(sql, orgId, id);
  return batch === null || batch.isOverdue || batch.status === 'cancelling';
}

async function embedChunk(
  context: BatchContext,
  lease: Lease,
  { batch, plan, choices, progress, done }: Attempt,
  chunk: PlannedChunk,
  { calls, exactly }: { readonly calls: <T>(run: () => Promise<T>) => Promise<T>; readonly exactly: boolean },
): Promise<void> {
  const choice = choices[chunk.group];
  if (choice === undefined || choice.fault !== null) return;
  const planned = chunk.texts.map((text) => plan.texts[text] as PlannedText);
  const texts = await readTexts(context.objects, batch.inputKey, planned);
  const { backend, dimensions } = choice;
  const embedded = await calls(() => {
    lease.signal.throwIfAborted();
    return embedTexts(texts, { hash: chunk.hash, dimensions }, (some, own) => {
      const space = own ?? spaceOf(chunk.group, plan, done);
      return context.embedder.embed({
        texts: some,
        model: backend,
        dimensions,
        taskType: plan.groups[chunk.group]?.taskType ?? null,
        orgId: batch.orgId,
        charge: null, // reserved after the check of the input
        comparableWith: space === null ? null : { model: backend, revision: null, space },
        isBulk: true,
        isForJob: true,
        exactly,
        signal: lease.signal,
      });
    });
  });
  const stored = await storeChunk(context.objects, batch, chunk, embedded, () => lease.confirm());
  const { space, used, cost } = stored.facts;
  const before = spaceOf(chunk.group, plan, done);
  progress.count(chunk.number, stored.facts);
  const usage = { space, used, cost };
  await lease.progressedBy((sql, held) =>
    insertChunk(sql, held, batch.id, { number: chunk.number, usage }, progress.counts),
  );
  done.set(chunk.number, usage);
  progress.settle(chunk.number, stored);
  if (before !== null && space !== null && before !== space) {
    throw new JobError({
      category: 'not_comparable',
      message: 'the model changed while the texts were embedded; the batch will be tried again',
      retryable: true,
    });
  }
}

/** Return the latent space of a group's stored chunks, or null if there are none. */
function spaceOf(group: number, plan: Plan, done: ReadonlyMap<number, ChunkUsage>): string | null {
  for (const [number, { space }] of done) if (plan.chunks[number]?.group === group && space !== null) return space;
  return null;
}
