import { crc32 } from 'node:zlib';
import { z } from 'zod';

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
const LENGTH_BYTES = 4;

const Fault = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  status: z.int(),
});

const Facts = z.object({
  /** Hash of the texts, from the plan. */
  hash: z.string(),
  dimensions: z.int(),
  /** Latent space; null if every text was refused. */
  space: z.string().nullable(),
  model: z.string().nullable(),
  used: z.array(z.object({ model: z.string(), texts: z.int(), tokens: z.int() })),
  cost: z.number(),
  /** Number of tokens per text; 0 for a refused one. */
  tokens: z.array(z.int()),
  /** Faults of refused texts, by row. */
  faults: z.array(z.tuple([z.int(), Fault])),
  /** CRC-32 of the vectors. */
  crc: z.int(),
});

/** Facts of a stored chunk, other than its vectors. */
export type ChunkFacts = Omit<z.output<typeof Facts>, 'crc'>;

export interface StoredChunk {
  readonly facts: ChunkFacts;
  /** Float32Array [texts x dimensions], row-major; zeros for a refused text. */
  readonly vectors: Float32Array<ArrayBuffer>;
}

/**
 * Encode a chunk: vectors as little-endian float32 from byte 0, the facts as JSON, and the length of the JSON.
 * @returns bytes in a buffer of their own
 */
export function encodeChunk({ facts, vectors }: StoredChunk): Buffer {
  const floats = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  const json = Buffer.from(JSON.stringify({ ...facts, crc: crc32(floats) }));
  const bytes = Buffer.allocUnsafeSlow(floats.length + json.length + LENGTH_BYTES);
  bytes.set(floats);
  bytes.set(json, floats.length);
  bytes.writeUInt32LE(json.length, floats.length + json.length);
  return bytes;
}

/** Decode a chunk's object. Return null if it is damaged or its texts don't match `hash`. */
export function decodeChunk(bytes: Uint8Array, hash: string): StoredChunk | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < LENGTH_BYTES) return null;
  const jsonEnd = buffer.length - LENGTH_BYTES;
  const jsonStart = jsonEnd - buffer.readUInt32LE(jsonEnd);
  if (jsonStart < 0) return null;
  let json: unknown;
  try {
    json = JSON.parse(buffer.toString('utf8', jsonStart, jsonEnd));
  } catch {
    return null;
  }
  const parsed = Facts.safeParse(json);
  if (!parsed.success) return null;
  const { crc, ...facts } = parsed.data;
  const floats = buffer.subarray(0, jsonStart);
  const isWhole = floats.length === facts.tokens.length * facts.dimensions * FLOAT_BYTES && crc32(floats) === crc;
  if (facts.hash !== hash || !isWhole) return null;
  const vectors = new Float32Array(floats.length / FLOAT_BYTES);
  new Uint8Array(vectors.buffer).set(floats);
  return { facts, vectors };
}
