import type { VectorOrigin } from '../embedding/model-choice.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { ArtifactChunk, ChunkArtifact, NativeChunkVectors } from './artifact.ts';
import { readArtifactParts } from './artifact-store.ts';
import type { ChunkBuffer } from './chunk-buffer.ts';
import type { EmbeddedChunks } from './chunk-embedder.ts';
import { embedTextOf } from './prepare-chunks.ts';
import { findStoredGeneration, type StoredGeneration } from './store.ts';

interface Request {
  readonly orgId: string;
  readonly documentId: string;
  readonly buffer: ChunkBuffer;
  /** Vectors of the bucket to be comparable with; null if it has none. */
  readonly comparableWith: VectorOrigin | null;
  readonly signal: AbortSignal;
}

/**
 * Find stored vectors of a document that match its current chunks, so that no provider is needed. Return null if there
 * are none, if the text or chunk settings changed, or if the vectors are in another latent space.
 */
export async function findStoredVectors(
  { sql, objects }: { sql: Sql; objects: Objects },
  { orgId, documentId, buffer, comparableWith, signal }: Request,
): Promise<StoredVectors | null> {
  const generation = await findStoredGeneration(sql, orgId, documentId);
  if (generation === null || generation.chunksCount !== buffer.count) return null;
  if (comparableWith !== null && comparableWith.space !== generation.space) return null;
  const read = () => readArtifactParts(objects, generation.artifactKey, { signal });
  try {
    return (await fits(read(), buffer)) ? new StoredVectors(generation, read()) : null;
  } catch (error) {
    // Embedding replaces a damaged or lost artifact.
    if (error instanceof AppError && !error.retryable) return null;
    throw error;
  }
}

/** Compare the stored chunks with the document's current ones. */
async function fits(parts: AsyncGenerator<ChunkArtifact>, buffer: ChunkBuffer): Promise<boolean> {
  const stored = chunksOf(parts);
  try {
    for await (const { embedText } of buffer.chunks()) {
      const next = await stored.next();
      if (next.done || embedTextOf(next.value) !== embedText) return false;
    }
    return true;
  } finally {
    await stored.return();
  }
}

async function* chunksOf(parts: AsyncGenerator<ChunkArtifact>): AsyncGenerator<ArtifactChunk, void> {
  for await (const { chunks } of parts) yield* chunks;
}

/** Reader of a stored generation's chunk vectors, in order. */
export class StoredVectors {
  readonly #generation: StoredGeneration;
  readonly #parts: AsyncGenerator<ChunkArtifact>;
  #part: ChunkArtifact | null = null;
  /** Number of chunks read from the current part. */
  #read = 0;

  constructor(generation: StoredGeneration, parts: AsyncGenerator<ChunkArtifact>) {
    this.#generation = generation;
    this.#parts = parts;
  }

  /** Read the vectors of the next `count` chunks. @throws AppError `artifact_corrupt` (500) */
  async take(count: number): Promise<EmbeddedChunks> {
    const { model, revision, space, mapVersion } = this.#generation;
    const vectors = new Float32Array(count * INDEX_DIMENSIONS);
    let native: NativeChunkVectors | null = null;
    for (let done = 0; done < count; ) {
      const part = await this.#current();
      const rows = Math.min(count - done, part.chunks.length - this.#read);
      vectors.set(rowsOf(part.vectors, INDEX_DIMENSIONS, this.#read, rows), done * INDEX_DIMENSIONS);
      if (part.native) {
        const { dimension } = part.native;
        native ??= { ...part.native, vectors: new Uint16Array(count * dimension) };
        native.vectors.set(rowsOf(part.native.vectors, dimension, this.#read, rows), done * dimension);
      }
      done += rows;
      this.#read += rows;
    }
    return { vectors, native, model, space, mapVersion, origin: { model, revision, space } };
  }

  async close(): Promise<void> {
    await this.#parts.return(undefined);
  }

  async #current(): Promise<ChunkArtifact> {
    while (this.#part === null || this.#read === this.#part.chunks.length) {
      const { done, value } = await this.#parts.next();
      if (done) throw new Error('the artifact became shorter');
      this.#part = value;
      this.#read = 0;
    }
    return this.#part;
  }
}

function rowsOf<T extends Float32Array | Uint16Array>(values: T, width: number, from: number, rows: number): T {
  return values.subarray(from * width, (from + rows) * width) as T;
}
