import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import { asJobError } from '../jobs/embedding-failure.ts';
import { JobError } from '../jobs/lease.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { NativeChunkVectors } from './artifact.ts';
import { toHalves } from './half-floats.ts';

/** Texts embedded in one call. */
const EMBED_BATCH_TEXTS = 64;

/** Vectors of all chunks of a document, of one model and through one map. */
export interface EmbeddedChunks {
  /** Float32Array [chunks x INDEX_DIMENSIONS], row-major. */
  readonly vectors: Float32Array;
  readonly native: NativeChunkVectors | null;
  readonly model: string;
  readonly space: string;
  readonly mapVersion: number | null;
  readonly cost: number;
}

/**
 * Embed the chunks of one document. The first batch decides on the model, also where an alias or a fallback chose it;
 * the others follow.
 *
 * @param checkSpace called once the first batch has told the latent space, before more is paid for
 * @throws JobError; the signal's reason; what `checkSpace` throws
 */
export async function embedChunks(
  embedder: Embedder,
  orgId: string,
  texts: readonly string[],
  options: { signal: AbortSignal; checkSpace: (space: string) => Promise<void> },
): Promise<EmbeddedChunks> {
  const { signal, checkSpace } = options;
  const vectors = new Float32Array(texts.length * INDEX_DIMENSIONS);
  let native: NativeChunkVectors | null = null;
  let first: EmbeddedTexts | null = null;
  let cost = 0;
  for (let start = 0; start < texts.length; start += EMBED_BATCH_TEXTS) {
    signal.throwIfAborted();
    const batch: EmbeddedTexts = await embedForIndex(embedder, {
      texts: texts.slice(start, start + EMBED_BATCH_TEXTS),
      ...(first === null ? {} : { model: first.model, exactly: true }),
      keepNative: true,
      taskType: 'retrieval_document',
      orgId,
      charge: { account: { orgId }, axis: 'embed_batch', internal: true },
      signal,
    }).catch((error: unknown) => {
      throw asJobError(error);
    });
    if (first === null) {
      first = batch;
      await checkSpace(batch.space);
      native = roomFor(batch, texts.length);
    } else if (!isAlike(first, batch)) {
      throw new JobError({
        category: 'not_comparable',
        message: 'the model or its map changed while the document was embedded; it will be tried again',
        retryable: true,
      });
    }
    vectors.set(batch.vectors, start * INDEX_DIMENSIONS);
    if (native && batch.native) native.vectors.set(toHalves(batch.native.vectors), start * native.dimension);
    cost += batch.cost;
  }
  if (first === null) throw new Error('nothing to embed');
  const { model, space, mapVersion } = first;
  return { vectors, native, model, space, mapVersion, cost };
}

function roomFor({ native }: EmbeddedTexts, rows: number): NativeChunkVectors | null {
  if (native === null) return null;
  const { dimension, revision } = native;
  return { dimension, revision, vectors: new Uint16Array(rows * dimension) };
}

function isAlike(a: EmbeddedTexts, b: EmbeddedTexts): boolean {
  return (
    a.model === b.model &&
    a.space === b.space &&
    a.mapVersion === b.mapVersion &&
    a.native?.revision === b.native?.revision &&
    a.native?.dimension === b.native?.dimension
  );
}
