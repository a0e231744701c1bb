import { findKnownGenerations } from '../index/index-store.ts';
import type { IndexWriter } from '../index/writing/index-writer.ts';
import { LeaseLost } from '../jobs/lease.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { ArtifactChunk } from './artifact.ts';
import { ArtifactWriter } from './artifact-store.ts';
import type { EmbeddedChunks } from './chunk-embedder.ts';
import type { NewGeneration } from './generation-store.ts';
import { rowsOf } from './index-rows.ts';
import type { PreparedChunk } from './prepare-chunks.ts';
import type { IngestSource } from './source-store.ts';

export interface WriteContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly index: IndexWriter;
}

/** Chunk with its tokens for keyword search. */
type WrittenChunk = Omit<PreparedChunk, 'embedText'>;

/**
 * Writer of a generation's chunks, page by page: first to object storage, then to the index, which can be rebuilt from
 * object storage, but not vice versa. Searches find nothing of it before the generation is active.
 */
export class GenerationWriter {
  readonly #context: WriteContext;
  readonly #source: IngestSource;
  readonly #generation: NewGeneration;
  readonly #signal: AbortSignal;
  readonly #artifact: ArtifactWriter;

  constructor(context: WriteContext, source: IngestSource, generation: NewGeneration, signal: AbortSignal) {
    this.#context = context;
    this.#source = source;
    this.#generation = generation;
    this.#signal = signal;
    this.#artifact = new ArtifactWriter(context, generation.artifactKey, { signal });
  }

  /**
   * Write a page of chunks.
   * @throws LeaseLost if the generation was swept meanwhile; AppError of the index (`not_comparable`) and of the
   *   storage; the reason of the signal
   */
  async write(page: readonly WrittenChunk[], embedded: EmbeddedChunks, isLast: boolean): Promise<void> {
    try {
      await this.#write(page, embedded, isLast);
    } catch (error) {
      await this.abandon(error);
      if (await this.#isGone(error)) {
        await this.#context.objects.delete(this.#generation.artifactKey, { unreferenced: true });
        throw new LeaseLost(this.#source.documentId);
      }
      throw error;
    }
  }

  /** Delete an incomplete artifact. */
  async abandon(reason: unknown): Promise<void> {
    await this.#artifact.abandon(reason);
  }

  async #write(
    page: readonly WrittenChunk[],
    { vectors, native, origin }: EmbeddedChunks,
    isLast: boolean,
  ): Promise<void> {
    const { documentId, bucketId, collectionId, privacyLevel, eventTimeMs } = this.#source;
    const { id: generation, embedModel, space, mapVersion } = this.#generation;
    const chunks = page.map(
      (chunk): ArtifactChunk => ({
        id: `${documentId}_${generation}_${chunk.index}`,
        index: chunk.index,
        text: chunk.text,
        token_count: chunk.tokenCount,
        locator: chunk.locator,
      }),
    );
    const about = { documentId, generation, model: embedModel, space, mapVersion, dimensions: INDEX_DIMENSIONS };
    await this.#artifact.write({ ...about, chunks, vectors, native }, isLast);
    this.#signal.throwIfAborted();
    const tokens = page.map((chunk) => chunk.tokens);
    const rows = { documentId, generation, collectionId, privacyLevel, eventTimeMs, chunks, tokens, vectors };
    for (const slice of rowsOf({ ...rows, dimensions: INDEX_DIMENSIONS }, page.length)) {
      await this.#context.index.append(bucketId, slice, origin);
    }
  }

  /** Return true if the generation was swept, which may happen to a lost job before its artifact is stored. */
  async #isGone(error: unknown): Promise<boolean> {
    if (error instanceof AppError && error.code === 'generation_gone') return true;
    if (!this.#signal.aborted) return false;
    return !(await findKnownGenerations(this.#context.sql, [this.#generation.id])).has(this.#generation.id);
  }
}
