import { findActorAccount } from '../access/actor-account-store.ts';
import { requireStorage } from '../documents/storage-limit.ts';
import { jobErrorCategoryOf } from '../embedding/job-error-category.ts';
import { dropUnneeded } from '../files/files.ts';
import type { JobHandler } from '../jobs/handler.ts';
import { JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import { AppError } from '../platform/errors.ts';
import { bookReservation, settleBooked } from '../usage/booked-reservations.ts';
import type { AnswerSource, NotRun } from './answer-lines.ts';
import { failBatch } from './batch-operations.ts';
import { BATCH_JOB } from './batch-schema.ts';
import {
  type BatchEnd,
  type BatchRow,
  beginFinalizing,
  beginRequests,
  endBatch,
  selectBatch,
  selectBatchOfJob,
  updateErrors,
} from './batches-store.ts';
import { chooseModels } from './choose-models.ts';
import type { BatchContext } from './context.ts';
import { type Attempt, embedChunks } from './embed-chunks.ts';
import { chunksPrefix } from './object-keys.ts';
import { outputBytesMax } from './output-size.ts';
import { InvalidInput, type Plan, planInput } from './plan.ts';
import { type GroupChoice, insertChoices, selectChoices, selectUsed } from './progress-store.ts';
import { collectStored } from './stored-progress.ts';
import { switchToFallback } from './switch-to-fallback.ts';
import { VectorReader } from './vector-reader.ts';
import { insertWritten, type WrittenFile, writeErrors, writeOutput } from './write-files.ts';

/**
 * Create the handler of batch jobs: extracting (check the input) -> embedding -> indexing (write the files). As in a
 * bulk job, a chunk counts once its row exists, which is written after its object and under the job's fence. Callers
 * see the files once the transaction that ends the batch has committed.
 */
export function batchHandler(context: BatchContext): JobHandler {
  return {
    kind: 'batch',
    firstPhase: 'extracting',
    run: (lease) => run(context, lease),
    onFailed: failBatch,
  };
}

async function run(context: BatchContext, lease: Lease): Promise<void> {
  const { orgId, id } = lease.job;
  const batch = await selectBatchOfJob(context.sql, orgId, id);
  if (batch === null) throw new JobError({ category: 'storage', message: 'the batch is gone', retryable: false });
  const { plan, choices } = await prepare(context, lease, batch);
  await lease.advance('embedding');
  let answered = await answer(context, lease, batch, plan, choices);
  if ('outage' in answered) {
    const switched = await switchToFallback(context, lease, { batch, plan, choices }, answered.outage);
    if (switched === null) throw answered.outage;
    answered = await answer(context, lease, batch, plan, switched);
    if ('outage' in answered) throw answered.outage;
  }
  await finish(context, lease, answered);
}

/** Check the creator and the input. Once for all attempts, choose models, and reserve quota and storage. */
async function prepare(
  context: BatchContext,
  lease: Lease,
  batch: BatchRow,
): Promise<{ plan: Plan; choices: readonly GroupChoice[] }> {
  const { sql, plans } = context;
  try {
    const account = await findActorAccount(sql, batch.orgId, batch.actor);
    if (account === null) throw creatorRefused();
    const plan = await planInput(context, batch.inputKey, lease.signal);
    const chosen = await selectChoices(sql, batch.id);
    if (batch.inProgressAt !== null) return { plan, choices: chosen };
    const choices = await chooseModels(context, batch, plan, account.limits);
    const amount = plan.chunks.reduce(
      (sum, { group, texts }) => sum + (choices[group]?.fault === null ? texts.length : 0),
      0,
    );
    const facts = {
      total: plan.lines.length,
      failed: plan.lines.filter((line) => 'fault' in line).length,
      outputBytesMax: outputBytesMax(plan, choices),
    };
    await sql.begin(async (tx) => {
      await requireStorage(tx, account, facts.outputBytesMax, plans[account.plan]?.storageBytes ?? null);
      if (!(await beginRequests(tx, lease.held, batch.id, facts))) throw new LeaseLost(lease.job.id);
      await insertChoices(tx, batch.id, choices);
      if (amount > 0) await bookReservation(tx, plans, { id: lease.job.id, account, axis: 'embed_batch', amount });
    });
    return { plan, choices };
  } catch (error) {
    throw await recordRefusal(context, lease, batch, error);
  }
}

function creatorRefused(): AppError {
  const message =
    'the key, user or application that created the batch is revoked, expired or suspended; ' +
    'create the batch again with a valid one';
  return new AppError({ code: 'creator_refused', status: 403, message });
}

/** Record why no request of a batch is run, and return the error that fails its job. */
async function recordRefusal({ sql }: BatchContext, lease: Lease, batch: BatchRow, error: unknown): Promise<unknown> {
  const known = jobErrorCategoryOf(error);
  if (error instanceof AppError && error.code === 'object_not_found') {
    const message = 'the bytes of the input file are missing; upload it again';
    return new JobError({ category: 'storage', message, retryable: false }, error);
  }
  const isInvalid = error instanceof InvalidInput;
  if (!isInvalid && (known === null || known.retryable)) {
    return known && error instanceof Error ? new JobError({ ...known, message: error.message }, error) : error;
  }
  const { code, message, param } = error as AppError;
  const errors = isInvalid ? error.errors : [{ code, message, param, line: null }];
  if (!(await updateErrors(sql, lease.held, batch.id, errors))) return new LeaseLost(lease.job.id);
  const failure = known ?? { category: 'corrupt', retryable: false };
  return new JobError({ ...failure, message: (error as Error).message } as JobError['failure'], error);
}

interface Answered {
  readonly source: AnswerSource;
  readonly output: WrittenFile | null;
  readonly actualCost: number;
}

/** Embed the missing chunks while writing the output. Return an outage of a model instead of throwing it. */
async function answer(
  context: BatchContext,
  lease: Lease,
  batch: BatchRow,
  plan: Plan,
  choices: readonly GroupChoice[],
): Promise<Answered | { readonly outage: JobError }> {
  const { progress, done } = await collectStored(context, lease, batch, plan, choices);
  const attempt: Attempt = { batch, plan, choices, progress, done };
  const vectors = new VectorReader(context.objects, attempt);
  const source: AnswerSource = { batch, plan, choices, progress, vectors };
  const writing = writeOutput(context, source, lease.signal);
  writing.catch(() => undefined);
  try {
    await embedChunks(context, lease, attempt);
  } catch (error) {
    progress.abort(error);
    await writing.catch(() => undefined);
    if (error instanceof JobError && error.failure.category === 'upstream_unavailable') return { outage: error };
    throw error;
  }
  await lease.advance('indexing');
  if (!(await beginFinalizing(context.sql, lease.held, batch.id))) throw new LeaseLost(lease.job.id);
  progress.skipRest();
  const output = await writing;
  return { source, output, actualCost: [...done.values()].reduce((sum, { cost }) => sum + cost, 0) };
}

/** Write the error file, and end the batch in the transaction that settles its usage. */
async function finish(context: BatchContext, lease: Lease, { source, output, actualCost }: Answered): Promise<void> {
  const { sql } = context;
  const { batch, plan, progress } = source;
  const { completed, failed, total } = progress.counts;
  const end = completed + failed === total ? null : await whyUnfinished(context, batch);
  const errors = await writeErrors(context, source, end?.notRun ?? null, lease.signal);
  lease.signal.throwIfAborted();
  await sql.begin(async (tx) => {
    await lease.complete(tx, { chunksCount: plan.chunks.length, fileType: BATCH_JOB, actualCost });
    const used = await selectUsed(tx, lease.job.id);
    await endBatch(tx, batch.orgId, lease.job.id, {
      status: end?.status ?? 'completed',
      model: used.length === 0 ? null : used.map(({ model }) => model).join('+'),
      tokens: used.reduce((sum, { tokens }) => sum + Number(tokens), 0),
      outputFileId: await insertWritten(tx, source, output, 'output'),
      errorFileId: await insertWritten(tx, source, errors, 'error'),
      counts: { total, completed, failed: total - completed },
    });
    await settleBooked(tx, lease.job.id, used);
  });
  await forgetWork(context, batch);
}

async function whyUnfinished(
  { sql }: BatchContext,
  { orgId, id }: BatchRow,
): Promise<{ status: Extract<BatchEnd['status'], 'expired' | 'cancelled'>; notRun: NotRun }> {
  const batch = await selectBatch(sql, orgId, id);
  if (batch?.status === 'cancelling') {
    const message = 'the batch was cancelled before this request was run';
    return { status: 'cancelled', notRun: { code: 'batch_cancelled', message } };
  }
  const message = 'the completion window ended before this request ran';
  return { status: 'expired', notRun: { code: 'batch_expired', message } };
}

/** Delete data that only a batch in progress needs. A sweep deletes what fails here. */
async function forgetWork(context: BatchContext, { orgId, id, inputKey }: BatchRow): Promise<void> {
  await context.objects
    .deletePrefix(chunksPrefix(orgId, id))
    .catch((error) => context.logger.warn({ err: error, batch_id: id }, 'chunks of a batch are left to the sweep'));
  await dropUnneeded(context, [inputKey]).catch((error) =>
    context.logger.warn({ err: error, batch_id: id }, 'the input of a batch is left to the sweep'),
  );
}
