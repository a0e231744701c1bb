import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { AppError } from '../platform/errors.ts';
import type { Locator } from '../search/schema.ts';

/** A chunk as it is kept beside the original file. */
export interface ArtifactChunk {
  readonly id: string;
  readonly index: number;
  readonly text: string;
  readonly token_count: number;
  readonly locator: Locator;
}

/** Everything that the index holds of one generation: enough to rebuild it without calling any provider. */
export interface ChunkArtifact {
  readonly documentId: string;
  readonly generation: number;
  readonly model: string;
  readonly space: string;
  readonly dimensions: number;
  readonly chunks: readonly ArtifactChunk[];
  /** Float32Array [chunks x dimensions], row-major. */
  readonly vectors: Float32Array;
}

const MAGIC = 'SVCCHNK1';
const HEADER_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Layout, little-endian: magic (8 bytes) · SHA-256 of all that follows (32) · length of the header (u32) ·
 * header (raw DEFLATE of JSON) · vectors (float32).
 */
export function encodeArtifact(artifact: ChunkArtifact): Buffer {
  const { vectors, ...rest } = artifact;
  const header = deflateRawSync(JSON.stringify(rest), { level: 1 });
  const length = Buffer.alloc(4);
  length.writeUInt32LE(header.length);
  const raw = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  const checksum = createHash('sha256').update(length).update(header).update(raw).digest();
  return Buffer.concat([Buffer.from(MAGIC, 'latin1'), checksum, length, header, raw]);
}

/** @throws AppError `artifact_corrupt` (500) when a byte is missing or changed */
export function decodeArtifact(bytes: Uint8Array): ChunkArtifact {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < 44 || buffer.toString('latin1', 0, 8) !== MAGIC) throw corrupt();
  const body = buffer.subarray(40);
  if (!createHash('sha256').update(body).digest().equals(buffer.subarray(8, 40))) throw corrupt();
  const headerEnd = 4 + body.readUInt32LE(0);
  const header = inflateRawSync(body.subarray(4, headerEnd), { maxOutputLength: HEADER_BYTES_MAX });
  const rest = JSON.parse(header.toString('utf8')) as Omit<ChunkArtifact, 'vectors'>;
  // Copied, since a view of floats must start at a multiple of four bytes.
  const raw = Uint8Array.from(body.subarray(headerEnd));
  return { ...rest, vectors: new Float32Array(raw.buffer) };
}

function corrupt(): AppError {
  return new AppError({
    code: 'artifact_corrupt',
    status: 500,
    message: 'a stored chunk artifact is damaged; reprocess its document',
  });
}
