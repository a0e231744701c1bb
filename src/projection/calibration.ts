import { createHash } from 'node:crypto';
import type { Model } from '../models/catalog.ts';
import type { TaskType } from '../models/task-types.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';

/** Text for aligning models. */
export interface CalibrationText {
  readonly text: string;
  /** Kind of text. Asymmetric models embed queries and passages differently, so they are aligned on both. */
  readonly kind: 'query' | 'passage';
}

/**
 * Function that gets native vectors from the provider, without cache or projection: Float32Array [n x nativeDimension].
 */
export type EmbedNative = (call: {
  model: Model;
  texts: readonly string[];
  taskType: TaskType;
  /** Use only capacity that other calls of the provider leave free. */
  isBackground?: boolean;
  signal: AbortSignal;
}) => Promise<Float32Array>;

const TASK_TYPES = { query: 'retrieval_query', passage: 'retrieval_document' } as const;

/** Texts per call, and per stored object that a resumed run reuses. */
const BATCH_TEXTS = 100;
const CONCURRENT_BATCHES_MAX = 4;
/** Time to reuse vectors of an interrupted run. Later, the vendor may have changed the model. */
const RESUMABLE_MS = 24 * 3_600_000;

/** Key prefix of the vectors of interrupted runs. */
const CALIBRATION_PREFIX = 'projections/calibration/';

/**
 * Embed calibration texts and store each batch, so that a resumed run does not pay twice.
 *
 * @param onProgress called with the number of texts embedded so far
 * @returns Float32Array [n x model.nativeDimension], in the order of the texts
 */
export async function embedCalibration(
  context: { objects: Objects; embed: EmbedNative },
  model: Model,
  texts: readonly CalibrationText[],
  options: { signal: AbortSignal; onProgress?: (done: number) => void },
): Promise<Float32Array> {
  const k = model.nativeDimension;
  const vectors = new Float32Array(texts.length * k);
  const batches = batchesOf(texts);
  let done = 0;
  let next = 0;
  const work = async () => {
    for (let batch = batches[next++]; batch; batch = batches[next++]) {
      options.signal.throwIfAborted();
      const rows = await embedBatch(context, model, batch, options.signal).catch((error: unknown) => {
        next = batches.length;
        throw error;
      });
      for (const [row, index] of batch.indexes.entries()) vectors.set(rows.subarray(row * k, (row + 1) * k), index * k);
      done += batch.indexes.length;
      options.onProgress?.(done);
    }
  };
  // Wait for all calls even if one fails, so that every paid batch is stored.
  const outcomes = await Promise.allSettled(Array.from({ length: CONCURRENT_BATCHES_MAX }, work));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  return vectors;
}

/** Delete the vectors that `embedCalibration` stored for these texts. */
export async function deleteCalibration(
  objects: Objects,
  model: Model,
  texts: readonly CalibrationText[],
): Promise<void> {
  for (const batch of batchesOf(texts))
    await objects.delete(`${CALIBRATION_PREFIX}${digestOf(model, batch)}`, { unreferenced: true });
}

interface Batch {
  readonly kind: CalibrationText['kind'];
  readonly texts: readonly string[];
  readonly indexes: readonly number[];
}

function batchesOf(texts: readonly CalibrationText[]): Batch[] {
  const batches: Batch[] = [];
  for (const kind of ['query', 'passage'] as const) {
    const indexes = texts.flatMap((text, index) => (text.kind === kind ? [index] : []));
    for (let from = 0; from < indexes.length; from += BATCH_TEXTS) {
      const own = indexes.slice(from, from + BATCH_TEXTS);
      batches.push({ kind, indexes: own, texts: own.map((index) => (texts[index] as CalibrationText).text) });
    }
  }
  return batches;
}

async function embedBatch(
  { objects, embed }: { objects: Objects; embed: EmbedNative },
  model: Model,
  batch: Batch,
  signal: AbortSignal,
): Promise<Float32Array> {
  const key = `${CALIBRATION_PREFIX}${digestOf(model, batch)}`;
  const stored = await readStored(objects, key, batch.texts.length * model.nativeDimension);
  if (stored) return stored;
  const vectors = await embed({ model, texts: batch.texts, taskType: TASK_TYPES[batch.kind], signal });
  const stamp = Buffer.alloc(8);
  stamp.writeDoubleLE(Date.now());
  const bytes = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  const checksum = createHash('sha256').update(stamp).update(bytes).digest();
  await objects.put(key, Buffer.concat([checksum, stamp, bytes]));
  return vectors;
}

/**
 * Read a stored batch. Return null if it is missing, old or damaged. Layout: SHA-256 of the rest (32 bytes) · time
 * (float64) · vectors (float32).
 */
async function readStored(objects: Objects, key: string, floats: number): Promise<Float32Array | null> {
  const found = await objects.get(key).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'object_not_found') return null;
    throw error;
  });
  if (found === null) return null;
  const bytes = Buffer.from(found);
  if (bytes.length !== 40 + floats * 4) return null;
  if (!createHash('sha256').update(bytes.subarray(32)).digest().equals(bytes.subarray(0, 32))) return null;
  if (Date.now() - bytes.readDoubleLE(32) > RESUMABLE_MS) return null;
  return new Float32Array(Uint8Array.from(bytes.subarray(40)).buffer);
}

function digestOf(model: Model, batch: Batch): string {
  const { id, revision, nativeDimension, prefixes } = model;
  return createHash('sha256')
    .update(JSON.stringify([id, revision, nativeDimension, prefixes, batch.kind, batch.texts]))
    .digest('hex');
}
