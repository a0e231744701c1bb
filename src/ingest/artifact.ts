import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import type { Locator } from '../documents/locator.ts';
import { AppError } from '../platform/errors.ts';
import type { Threads } from '../platform/threads.ts';

/** Chunk as stored beside the original file. */
export interface ArtifactChunk {
  readonly id: string;
  readonly index: number;
  readonly text: string;
  readonly token_count: number;
  readonly locator: Locator;
}

/** Chunk vectors as returned by the model. They can be projected again without calling the model. */
export interface NativeChunkVectors {
  readonly dimension: number;
  readonly revision: string;
  /** IEEE 754 binary16 [chunks x dimension], row-major; unit vectors. */
  readonly vectors: Uint16Array;
}

/** All index data of one generation. The index can be rebuilt from it without calling a provider. */
export interface ChunkArtifact {
  readonly documentId: string;
  readonly generation: number;
  readonly model: string;
  readonly space: string;
  /** Version of the map that projected the vectors; null if there was none or it wasn't recorded. */
  readonly mapVersion: number | null;
  readonly dimensions: number;
  readonly chunks: readonly ArtifactChunk[];
  /** Float32Array [chunks x dimensions], row-major. */
  readonly vectors: Float32Array;
  /** Native vectors; null for a lexical model and in layout 1. */
  readonly native: NativeChunkVectors | null;
}

type Header = Omit<ChunkArtifact, 'vectors' | 'native' | 'mapVersion'> & {
  /** Present since layout 2. */
  readonly mapVersion?: number | null;
  readonly native?: Omit<NativeChunkVectors, 'vectors'> | null;
};

/** Layout 1 has no native vectors. */
const MAGIC_1 = 'SVCCHNK1';
const MAGIC = 'SVCCHNK2';
/** Layout 3 is a sequence of layout 2 parts, for a document that is never in memory as a whole. */
export const MAGIC_PARTS = 'SVCCHNK3';
const ENCODE_INLINE_CHUNKS_MAX = 64;
const HEADER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Encode an artifact in layout 2, little-endian: magic (8 bytes) · SHA-256 of all that follows (32) · length of the
 * header (u32) · header (raw DEFLATE of JSON) · vectors (float32) · native vectors, if any (float16).
 */
export function encodeArtifact(artifact: ChunkArtifact): Buffer {
  const { vectors, native, ...rest } = artifact;
  const about: Header = { ...rest, native: native && { dimension: native.dimension, revision: native.revision } };
  const header = deflateRawSync(JSON.stringify(about), { level: 1 });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  const body = [length, header, bytesOf(vectors), ...(native ? [bytesOf(native.vectors)] : [])];
  const hash = createHash('sha256');
  for (const part of body) hash.update(part);
  return Buffer.concat([Buffer.from(MAGIC, 'latin1'), hash.digest(), ...body]);
}

/**
 * Encode an artifact. Use a worker thread for a large one, since compressing and hashing would block the event loop.
 */
export async function encodeOnThread(
  threads: Threads,
  artifact: ChunkArtifact,
  signal: AbortSignal,
): Promise<Uint8Array> {
  if (artifact.chunks.length <= ENCODE_INLINE_CHUNKS_MAX) return encodeArtifact(artifact);
  return threads.run<Uint8Array>(new URL(import.meta.url), 'encodeArtifact', artifact, { signal });
}

/**
 * Decode an artifact in layout 1 or 2.
 * @param options.withVectors false to check the vectors but not return them
 * @throws AppError `artifact_corrupt` (500) if a byte is missing or changed
 */
export function decodeArtifact(
  bytes: Uint8Array,
  { withVectors = true }: { withVectors?: boolean } = {},
): ChunkArtifact {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const magic = buffer.toString('latin1', 0, 8);
  if (buffer.length < 44 || (magic !== MAGIC && magic !== MAGIC_1)) throw corrupt();
  const body = buffer.subarray(40);
  if (!createHash('sha256').update(body).digest().equals(buffer.subarray(8, 40))) throw corrupt();
  const headerEnd = 4 + body.readUInt32LE(0);
  const inflated = inflateRawSync(body.subarray(4, headerEnd), { maxOutputLength: HEADER_BYTES_MAX });
  const header = JSON.parse(inflated.toString('utf8')) as Header;
  // Only layout 2 has native vectors. A header of the other layout means that the magic was altered.
  if ('native' in header !== (magic === MAGIC)) throw corrupt();
  const { mapVersion = null, native = null, ...rest } = header;
  const vectorsEnd = headerEnd + rest.chunks.length * rest.dimensions * Float32Array.BYTES_PER_ELEMENT;
  const nativeBytes = native ? rest.chunks.length * native.dimension * Uint16Array.BYTES_PER_ELEMENT : 0;
  if (body.length !== vectorsEnd + nativeBytes) throw corrupt();
  if (!withVectors) return { ...rest, mapVersion, vectors: new Float32Array(0), native: null };
  return {
    ...rest,
    mapVersion,
    vectors: new Float32Array(copyOf(body.subarray(headerEnd, vectorsEnd))),
    native: native && { ...native, vectors: new Uint16Array(copyOf(body.subarray(vectorsEnd))) },
  };
}

function bytesOf(values: Float32Array | Uint16Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}

/** Copy bytes to a new buffer, since a float view must be aligned to its element size. */
function copyOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer;
}

/** Create the error for a stored artifact that differs from what was written. */
export function corrupt(): AppError {
  return new AppError({
    code: 'artifact_corrupt',
    status: 500,
    message: 'a stored chunk artifact is damaged; reprocess its document',
  });
}
