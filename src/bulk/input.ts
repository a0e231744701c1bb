import { promisify } from 'node:util';
import { deflateSync, inflate, inflateSync } from 'node:zlib';
import type { Objects } from '../platform/objects/objects.ts';
import { objectDamaged, readRange } from './read-range.ts';

/** Texts per embedding call and per result object (contract, section 8). */
export const CHUNK_TEXTS = 100;

const MAGIC = 0x314b_4c42; // "BLK1", little-endian
const HEAD_BYTES = 8;
const WORD_BYTES = 4;
/** Level with most of the default level's compression in a third of the time. */
const DEFLATE_LEVEL = 1;
/** Maximum size of an unpacked chunk, which guards against corrupt data. A whole request is smaller. */
const CHUNK_BYTES_MAX = 512 * 1024 * 1024;
const SAMPLE_TEXTS = 100;
const SAMPLE_TEXT_CHARS = 1_000;

/** Packed texts of a job, with the data that the submitter needs without unpacking. */
export interface PackedTexts {
  readonly count: number;
  /** Bytes of the input object. */
  readonly bytes: Uint8Array;
  /** Truncated texts from all parts of the input. Their language determines the backend. */
  readonly sample: readonly string[];
}

/**
 * Pack texts so that a worker can read them chunk by chunk: `BLK1`, the number of chunks n, and n + 1 offsets, the last
 * of which is the object's length (all 32-bit little-endian); then the chunks, each a JSON array of its texts in zlib
 * format, which has a checksum. Packing takes about 20 ms of CPU per megabyte.
 */
export function packTexts(texts: readonly string[]): PackedTexts {
  const chunks: Buffer[] = [];
  for (let from = 0; from < texts.length; from += CHUNK_TEXTS) {
    chunks.push(deflateSync(JSON.stringify(texts.slice(from, from + CHUNK_TEXTS)), { level: DEFLATE_LEVEL }));
  }
  const head = Buffer.alloc(headBytes(chunks.length));
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(chunks.length, WORD_BYTES);
  let at = head.length;
  for (const [index, chunk] of [...chunks, Buffer.alloc(0)].entries()) {
    head.writeUInt32LE(at, HEAD_BYTES + index * WORD_BYTES);
    at += chunk.length;
  }
  const step = Math.max(1, texts.length / SAMPLE_TEXTS);
  const sample = Array.from({ length: Math.min(texts.length, SAMPLE_TEXTS) }, (_, i) =>
    (texts[Math.floor(i * step)] as string).slice(0, SAMPLE_TEXT_CHARS),
  );
  return { count: texts.length, bytes: Buffer.concat([head, ...chunks]), sample };
}

/** Split packed texts into chunks, each in its own buffer, so that they can be transferred to threads. */
export function splitPacked(bytes: Uint8Array): Uint8Array[] {
  const offsets = readOffsets('input', bytes);
  return Array.from({ length: offsets.length - 1 }, (_, i) => bytes.slice(offsets[i], offsets[i + 1]));
}

export function unpackChunk(packed: Uint8Array): string[] {
  return JSON.parse(inflateSync(packed, { maxOutputLength: CHUNK_BYTES_MAX }).toString('utf8')) as string[];
}

/** Reader of a stored input. It holds only the requested chunk in memory. */
export interface StoredInput {
  readonly chunkCount: number;
  /** @throws AppError `object_not_found` (404), `object_damaged` (500), `objects_unavailable` (503) */
  readChunk(chunk: number): Promise<string[]>;
}

/** @throws AppError `object_not_found` (404), `object_damaged` (500), `objects_unavailable` (503) */
export async function openStoredInput(objects: Objects, key: string, chunkCount: number): Promise<StoredInput> {
  const head = new Uint8Array(headBytes(chunkCount));
  await readRange(objects, key, 0, head);
  const offsets = readOffsets(key, head);
  if (offsets.length !== chunkCount + 1) throw objectDamaged(key);
  return {
    chunkCount,
    async readChunk(chunk) {
      const [from = 0, to = 0] = offsets.slice(chunk, chunk + 2);
      const packed = new Uint8Array(to - from);
      await readRange(objects, key, from, packed);
      try {
        const json = await inflateAsync(packed, { maxOutputLength: CHUNK_BYTES_MAX });
        return JSON.parse(json.toString('utf8')) as string[];
      } catch {
        throw objectDamaged(key);
      }
    },
  };
}

const inflateAsync = promisify<Uint8Array, { maxOutputLength: number }, Buffer>(inflate);

function headBytes(chunkCount: number): number {
  return HEAD_BYTES + (chunkCount + 1) * WORD_BYTES;
}

/** Read the chunk offsets, including the end of the last chunk. */
function readOffsets(key: string, bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < HEAD_BYTES || view.getUint32(0, true) !== MAGIC) throw objectDamaged(key);
  const chunkCount = view.getUint32(WORD_BYTES, true);
  if (bytes.length < headBytes(chunkCount)) throw objectDamaged(key);
  const offsets = Array.from({ length: chunkCount + 1 }, (_, i) => view.getUint32(HEAD_BYTES + i * WORD_BYTES, true));
  if (offsets.some((offset, i) => offset < (offsets[i - 1] ?? headBytes(chunkCount)))) throw objectDamaged(key);
  return offsets;
}
