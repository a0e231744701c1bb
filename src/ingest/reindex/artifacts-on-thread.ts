import { type Threads, transferResult } from '../../platform/threads.ts';
import { type ChunkArtifact, decodeArtifact, encodeArtifact } from '../artifact.ts';
import { analyseKept } from '../prepare-chunks.ts';

/** A stored artifact with the analysed text of each of its chunks. */
export interface AnalysedArtifact {
  readonly artifact: ChunkArtifact;
  readonly tokens: readonly string[];
}

/** A stored artifact; `tokens` is null if its chunks were not to be analysed. */
interface DecodedArtifact {
  readonly artifact: ChunkArtifact;
  readonly tokens: readonly string[] | null;
}

/** Bytes of an artifact. */
interface StoredBytes {
  readonly bytes: Uint8Array;
  /** False: the vectors are left out of the result. */
  readonly withVectors: boolean;
  /** True: the analysed texts of the chunks are known. */
  readonly isAnalysed: boolean;
}

/**
 * Decode artifacts and analyse their chunks on a worker thread.
 *
 * @param stored must not be used afterwards: the bytes are moved to the thread
 * @returns null in place of an artifact that is damaged, or in several parts
 */
export function decodeAllOnThread(
  threads: Threads,
  stored: readonly StoredBytes[],
  signal: AbortSignal,
): Promise<(DecodedArtifact | null)[]> {
  const transfer = stored.flatMap(({ bytes }) => wholeBuffersOf([bytes]));
  return threads.run(new URL(import.meta.url), 'decodeAll', stored, { signal, transfer });
}

/** Decode artifacts on the calling thread. */
export function decodeAll(stored: readonly StoredBytes[]): unknown {
  const buffers: ArrayBuffer[] = [];
  const decoded = stored.map(({ bytes, withVectors, isAnalysed }): DecodedArtifact | null => {
    const artifact = decodeOrNull(bytes);
    if (artifact === null) return null;
    const tokens = isAnalysed ? null : analyseKept(artifact.chunks);
    if (!withVectors) return { artifact: { ...artifact, vectors: new Float32Array(0), native: null }, tokens };
    buffers.push(...wholeBuffersOf([artifact.vectors, ...(artifact.native ? [artifact.native.vectors] : [])]));
    return { artifact, tokens };
  });
  return transferResult(decoded, buffers);
}

function decodeOrNull(bytes: Uint8Array): ChunkArtifact | null {
  try {
    return decodeArtifact(bytes);
  } catch {
    return null; // The caller reads it again, and then sees the reason.
  }
}

/**
 * Encode artifacts on a worker thread.
 *
 * @param artifacts their native vectors must not be used afterwards: they are moved to the thread
 */
export function encodeAllOnThread(
  threads: Threads,
  artifacts: readonly ChunkArtifact[],
  signal: AbortSignal,
): Promise<Uint8Array[]> {
  const transfer = artifacts.flatMap(({ native }) => wholeBuffersOf(native ? [native.vectors] : []));
  return threads.run(new URL(import.meta.url), 'encodeAll', artifacts, { signal, transfer });
}

/** Encode artifacts on the calling thread. */
export function encodeAll(artifacts: readonly ChunkArtifact[]): unknown {
  const encoded = artifacts.map((artifact) => encodeArtifact(artifact));
  return transferResult(encoded, wholeBuffersOf(encoded));
}

/** Buffers of arrays that have one of their own; a view of a shared buffer is copied instead of moved. */
function wholeBuffersOf(arrays: readonly (Uint8Array | Uint16Array | Float32Array)[]): ArrayBuffer[] {
  return arrays
    .filter(({ byteLength, buffer }) => byteLength > 0 && byteLength === buffer.byteLength)
    .map(({ buffer }) => buffer as ArrayBuffer);
}
