import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import { jobErrorCategoryOf } from '../embedding/job-error-category.ts';
import type { VectorOrigin } from '../embedding/model-choice.ts';
import { asJobError, JobError } from '../jobs/lease.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { NativeChunkVectors } from './artifact.ts';
import { toHalves } from './half-floats.ts';

const EMBED_BATCH_TEXTS = 64;

/** Vectors of some chunks of a document. All chunks of a document share one model and map. */
export interface EmbeddedChunks {
  /** Float32Array [chunks x INDEX_DIMENSIONS], row-major. */
  readonly vectors: Float32Array;
  readonly native: NativeChunkVectors | null;
  readonly model: string;
  readonly space: string;
  readonly mapVersion: number | null;
  /** Origin of the vectors, to compare other documents with; null if there are no vectors. */
  readonly origin: VectorOrigin | null;
}

/**
 * Embedder for the chunks of one document. The first batch determines the model, even if an alias or a fallback chose
 * it. All later batches use the same model.
 */
export class ChunkEmbedder {
  readonly #embedder: Embedder;
  readonly #orgId: string;
  readonly #signal: AbortSignal;
  readonly #comparableWith: VectorOrigin | null;
  readonly #checkSpace: (space: string) => Promise<void>;
  #first: EmbeddedTexts | null = null;
  #cost = 0;

  /**
   * @param options.comparableWith vectors of the bucket; null if it has none yet
   * @param options.checkSpace called once the first batch has revealed the latent space, before paying for more
   */
  constructor(
    embedder: Embedder,
    orgId: string,
    options: {
      signal: AbortSignal;
      comparableWith: VectorOrigin | null;
      checkSpace: (space: string) => Promise<void>;
    },
  ) {
    this.#embedder = embedder;
    this.#orgId = orgId;
    this.#signal = options.signal;
    this.#comparableWith = options.comparableWith;
    this.#checkSpace = options.checkSpace;
  }

  /** Cost of all chunks embedded so far. */
  get cost(): number {
    return this.#cost;
  }

  /** @param texts at least one. @throws JobError; the reason of the signal; the errors of `checkSpace` */
  async embed(texts: readonly string[]): Promise<EmbeddedChunks> {
    const vectors = new Float32Array(texts.length * INDEX_DIMENSIONS);
    let native: NativeChunkVectors | null = null;
    for (let start = 0; start < texts.length; start += EMBED_BATCH_TEXTS) {
      const batch = await this.#embedBatch(texts.slice(start, start + EMBED_BATCH_TEXTS));
      if (start === 0) native = allocateNative(batch, texts.length);
      vectors.set(batch.vectors, start * INDEX_DIMENSIONS);
      if (native && batch.native) native.vectors.set(toHalves(batch.native.vectors), start * native.dimension);
    }
    if (this.#first === null) throw new Error('nothing to embed');
    const { model, space, mapVersion, origin } = this.#first;
    return { vectors, native, model, space, mapVersion, origin };
  }

  async #embedBatch(texts: readonly string[]): Promise<EmbeddedTexts> {
    this.#signal.throwIfAborted();
    const batch = await embedForIndex(this.#embedder, {
      texts,
      ...(this.#first === null ? {} : { model: this.#first.model, exactly: true }),
      comparableWith: this.#first?.origin ?? this.#comparableWith,
      keepNative: true,
      isForJob: true,
      taskType: 'retrieval_document',
      orgId: this.#orgId,
      charge: { account: { orgId: this.#orgId }, axis: 'embed_batch', internal: true },
      signal: this.#signal,
    }).catch((error: unknown) => {
      throw asJobError(error, jobErrorCategoryOf(error));
    });
    if (this.#first === null) {
      this.#first = batch;
      await this.#checkSpace(batch.space);
    } else if (!isSameSpace(this.#first, batch)) {
      throw new JobError({
        category: 'not_comparable',
        message: 'the model or its map changed while the document was embedded; the job will be retried',
        retryable: true,
      });
    }
    this.#cost += batch.cost;
    return batch;
  }
}
function allocateNative({ native }: EmbeddedTexts, rows: number): NativeChunkVectors | null {
  if (native === null) return null;
  const { dimension, revision } = native;
  return { dimension, revision, vectors: new Uint16Array(rows * dimension) };
}

function isSameSpace(a: EmbeddedTexts, b: EmbeddedTexts): boolean {
  return (
    a.model === b.model &&
    a.space === b.space &&
    a.mapVersion === b.mapVersion &&
    a.native?.revision === b.native?.revision &&
    a.native?.dimension === b.native?.dimension
  );
}
