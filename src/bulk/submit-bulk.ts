import { availableParallelism } from 'node:os';
import { Readable } from 'node:stream';
import type { Caller } from '../access/caller.ts';
import { requireModelAllowed } from '../access/key-limits.ts';
import { BULK_PRIORITY_BY_PLAN } from '../access/plans.ts';
import type { JobModels } from '../embedding/model-choice.ts';
import { notifyWorkers } from '../jobs/notifier.ts';
import { enqueueJob } from '../jobs/store.ts';
import type { Model } from '../models/catalog.ts';
import { type CountedTokens, limitingModel, sizeOf, tokenLimitExceeded } from '../models/count-tokens.ts';
import type { TaskType } from '../models/task-types.ts';
import { type AppError, invalidSettings } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { mayHaveCommitted } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { bookReservation } from '../usage/booked-reservations.ts';
import type { BulkContext } from './bulk.ts';
import type { TokenCheck, TokenCheckReply, TokenCheckRequest } from './check-tokens.ts';
import { CHUNK_TEXTS, splitPacked } from './input.ts';
import { inputKey } from './object-keys.ts';
import { type BulkReply, type BulkRequest, EMBED_BULK } from './schema.ts';
import { type BulkSpec, insertBulkJob } from './store.ts';

/** Bytes passed at a time to the storage, which hashes them. */
const WRITE_BYTES = 256 * 1024;
/** Maximum number of chunks per thread call, so that other work gets threads too. */
const CHECKED_CHUNKS = 10;

/**
 * Submit a bulk job. Store its input before the transaction that reserves its usage and inserts its row. A crash thus
 * leaves either a job that will run or an orphaned object, which a sweep deletes.
 * @returns the response, and codes for the header `X-Service-Warning`
 * @throws AppError `unknown_model`, `token_limit_exceeded` (400, naming `texts[i]`), `quota_exceeded` (402),
 *   `axis_not_in_plan` (403), `provider_unavailable` (502), `storage_full` (503)
 */
export async function submitBulkJob(
  context: BulkContext,
  caller: Caller,
  request: BulkRequest,
  signal: AbortSignal,
): Promise<{ reply: BulkReply; warnings: string[] }> {
  const { sql, objects, logger } = context;
  const { texts } = request;
  const { model, dimensions } = request;
  const choice = await context.embedder.chooseForJob(caller.orgId, { model, dimensions, sample: texts.sample });
  requireModelAllowed(caller.limits, choice.asked.id);
  const taskType = request.task_type ?? null;
  const counted = await countAll(context.threads, choice, taskType, texts.bytes, signal);
  const tokens = counted.tokens.reduce((sum, each) => sum + each, 0);

  const id = newId('job');
  const key = inputKey(caller.orgId, id);
  try {
    const { sizeBytes } = await objects.put(key, Readable.from(slices(texts.bytes), { objectMode: false }));
    signal.throwIfAborted();
    const spec: BulkSpec = {
      model: choice.asked.id,
      backend: choice.backend.id,
      dimensions: dimensions ?? null,
      vectorDimensions: choice.dimensions,
      taskType,
      inputCount: texts.count,
      chunkSize: CHUNK_TEXTS,
      tokenCount: tokens,
      resumesJobId: null,
    };
    await sql.begin(async (tx) => {
      await bookReservation(tx, context.plans, { id, account: caller, axis: 'embed_batch', amount: texts.count });
      await enqueueJob(tx, {
        id,
        kind: 'bulk',
        orgId: caller.orgId,
        bucketId: EMBED_BULK,
        priority: BULK_PRIORITY_BY_PLAN[caller.plan],
        s3Key: key,
        fileName: EMBED_BULK,
        fileSizeBytes: sizeBytes,
        fileType: EMBED_BULK,
        processingType: EMBED_BULK,
        estimatedCost: (tokens * choice.checkedBy[0].pricePerMillion) / 1e6,
        metadataSnapshot: { file_name: EMBED_BULK, source_path: null, captured_at: new Date().toISOString() },
      });
      await insertBulkJob(tx, id, spec, counted);
    });
  } catch (error) {
    // The job may exist nevertheless. A sweep deletes an orphaned input.
    if (!mayHaveCommitted(error)) {
      await objects
        .delete(key)
        .catch((cause) =>
          logger.warn(
            { err: cause, key },
            'the input of a refused bulk job could not be deleted; a sweep removes it later',
          ),
        );
    }
    throw error;
  }
  await notifyWorkers(context, 'bulk');
  return {
    reply: {
      id,
      status: 'queued',
      model: choice.asked.id,
      usage: { tokens, count: texts.count },
      chunk_size: CHUNK_TEXTS,
    },
    warnings: [...choice.warnings],
  };
}

/** Split an input into slices, since hashing a large one at once would block the event loop. */
function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += WRITE_BYTES) yield bytes.subarray(at, at + WRITE_BYTES);
}

/**
 * Count the tokens of all texts on threads, like the first model that embeds any of them.
 * @throws AppError `token_limit_exceeded` (400) for the first text that is too long
 */
async function countAll(
  threads: Threads,
  choice: JobModels,
  taskType: TaskType | null,
  bytes: Uint8Array,
  signal: AbortSignal,
): Promise<CountedTokens> {
  const { asked, checkedBy } = choice;
  const checks = checkedBy.map(
    (each): TokenCheck => ({
      tokenizer: each.tokenizer,
      tokensMax: limitingModel(asked, each).maxTokens,
      prefix: (taskType !== null && each.prefixes[taskType]) || '',
    }),
  );
  const packed = splitPacked(bytes);
  const starts = Array.from({ length: Math.ceil(packed.length / CHECKED_CHUNKS) }, (_, i) => i * CHECKED_CHUNKS);
  const replies: TokenCheckReply[] = [];
  const queue = starts.entries();
  const countQueued = async () => {
    for (const [place, start] of queue) {
      const chunks = packed.slice(start, start + CHECKED_CHUNKS);
      const request: TokenCheckRequest = { chunks, firstIndex: start * CHUNK_TEXTS, checks };
      const module = new URL('./check-tokens.ts', import.meta.url);
      const reply = await threads.run<TokenCheckReply>(module, 'checkTokens', request, { signal });
      replies[place] = reply;
      if (!('tokens' in reply)) return;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, countQueued));
  const tokens: number[] = [];
  for (const reply of replies) {
    if (reply === undefined) continue; // not counted, since an earlier text was refused
    if (!('tokens' in reply)) throw refusal(reply, choice);
    for (const count of reply.tokens) tokens.push(count);
  }
  return { model: checkedBy[0].id, tokens };
}

function refusal(
  reply: Exclude<TokenCheckReply, { tokens: Uint32Array }>,
  { asked, checkedBy }: Pick<JobModels, 'asked' | 'checkedBy'>,
): AppError {
  if ('fault' in reply) {
    const { id } = checkedBy[reply.check] as Model;
    return invalidSettings([`models: the tokenizer of ${id} ${reply.fault}`]);
  }
  const { index, tokens, check } = reply.tooLong;
  const model = checkedBy[check] as Model;
  return tokenLimitExceeded(limitingModel(asked, model), `texts[${index}]`, sizeOf(tokens, model));
}
