import { freeMemory } from '../../platform/free-memory.ts';
import { ownBuffersOf, type Threads, transferResult } from '../../platform/threads.ts';
import { type ChunkArtifact, decodeArtifact, encodeArtifact } from '../artifact.ts';
import { analyseKept } from '../prepare-chunks.ts';

/** Stored artifact, with the analysed text of each chunk. */
export interface AnalysedArtifact {
  readonly artifact: ChunkArtifact;
  readonly tokens: readonly string[];
}

/** Stored artifact; `tokens` is null if its chunks need no analysis. */
interface DecodedArtifact {
  readonly artifact: ChunkArtifact;
  readonly tokens: readonly string[] | null;
}

interface StoredBytes {
  readonly bytes: Uint8Array;
  /** False to omit the vectors from the result. */
  readonly withVectors: boolean;
  /** True if the analysed texts of the chunks are already known. */
  readonly isAnalysed: boolean;
}

/**
 * Decode artifacts and analyse their chunks on a worker thread.
 * @param stored unusable afterwards: its bytes are transferred to the thread
 * @returns null for an artifact that is damaged or has several parts
 */
export function decodeAllOnThread(
  threads: Threads,
  stored: readonly StoredBytes[],
  signal: AbortSignal,
): Promise<(DecodedArtifact | null)[]> {
  const transfer = ownBuffersOf(stored.map(({ bytes }) => bytes));
  return threads.run(new URL(import.meta.url), 'decodeAll', stored, { signal, transfer });
}

/** Decode artifacts on the calling thread, and free their bytes. */
export function decodeAll(stored: readonly StoredBytes[]): unknown {
  const buffers: ArrayBuffer[] = [];
  const decoded = stored.map(({ bytes, withVectors, isAnalysed }): DecodedArtifact | null => {
    const artifact = decodeOrNull(bytes, withVectors);
    if (artifact === null) return null;
    const tokens = isAnalysed ? null : analyseKept(artifact.chunks);
    buffers.push(...ownBuffersOf([artifact.vectors, ...(artifact.native ? [artifact.native.vectors] : [])]));
    return { artifact, tokens };
  });
  for (const { bytes } of stored) freeMemory(bytes);
  return transferResult(decoded, buffers);
}

function decodeOrNull(bytes: Uint8Array, withVectors: boolean): ChunkArtifact | null {
  try {
    return decodeArtifact(bytes, { withVectors });
  } catch {
    return null; // The caller reads it again, which yields the reason.
  }
}

/** Encoded artifacts, with the vectors that were lent for encoding. */
interface EncodedArtifacts {
  readonly encoded: readonly Uint8Array[];
  readonly vectors: readonly Float32Array[];
}

/**
 * Encode artifacts on a worker thread.
 * @param artifacts their vectors are unusable afterwards: they are transferred to the thread, which returns all but the
 *   native ones
 */
export function encodeAllOnThread(
  threads: Threads,
  artifacts: readonly ChunkArtifact[],
  signal: AbortSignal,
): Promise<EncodedArtifacts> {
  const transfer = ownBuffersOf(
    artifacts.flatMap(({ vectors, native }) => (native ? [vectors, native.vectors] : vectors)),
  );
  return threads.run(new URL(import.meta.url), 'encodeAll', artifacts, { signal, transfer });
}

/** Encode artifacts on the calling thread, and free their native vectors. */
export function encodeAll(artifacts: readonly ChunkArtifact[]): unknown {
  const encoded = artifacts.map((artifact) => encodeArtifact(artifact));
  for (const { native } of artifacts) if (native) freeMemory(native.vectors);
  const vectors = artifacts.map((artifact) => artifact.vectors);
  return transferResult({ encoded, vectors } satisfies EncodedArtifacts, ownBuffersOf([...encoded, ...vectors]));
}
