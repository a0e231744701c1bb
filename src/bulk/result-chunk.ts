import { crc32 } from 'node:zlib';
import { z } from 'zod';

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;

const Used = z.object({ model: z.string(), texts: z.int().min(0), tokens: z.int().min(0) });

/** JSON after the floats of a chunk, which makes the object usable even if its row was never written. */
const Facts = z.object({
  texts: z.int().min(1),
  dimensions: z.int().min(1),
  space: z.string(),
  used: z.array(Used),
  cost: z.number(),
  row_crcs: z.array(z.int()),
});

/** Vectors of a finished chunk. */
export interface ResultChunk {
  /** Float32Array [texts x dimensions], row-major. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
  readonly space: string;
  readonly used: readonly z.output<typeof Used>[];
  /** Cost in the operator's currency. */
  readonly cost: number;
}

/** Facts of a stored chunk, other than its vectors. */
export interface ResultChunkFacts extends Omit<ResultChunk, 'vectors'> {
  readonly texts: number;
  readonly rowCrcs: readonly number[];
}

/**
 * Encode a chunk as an object: the vectors as raw little-endian float32, row by row from byte 0, so that a page can
 * read its rows by position; then a JSON object with the facts, including a CRC-32 per row.
 * @returns `bytes` in a buffer of their own
 */
export function encodeResultChunk(chunk: ResultChunk): { bytes: Uint8Array; facts: ResultChunkFacts } {
  const { vectors, dimensions, space, used, cost } = chunk;
  const rows = Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
  const rowCrcs = crcsOfRows(rows, dimensions);
  const texts = rowCrcs.length;
  const facts: z.output<typeof Facts> = { texts, dimensions, space, used: [...used], cost, row_crcs: rowCrcs };
  const json = Buffer.from(JSON.stringify(facts));
  const bytes = Buffer.allocUnsafeSlow(rows.length + json.length);
  bytes.set(rows);
  bytes.set(json, rows.length);
  return {
    bytes,
    facts: { texts, dimensions, space, used, cost, rowCrcs },
  };
}

/** Read and validate a stored chunk's facts. Return null if they differ from `expected` or the object is damaged. */
export function checkResultChunk(
  bytes: Uint8Array,
  expected: { readonly texts: number; readonly dimensions: number },
): ResultChunkFacts | null {
  const floatBytes = expected.texts * expected.dimensions * FLOAT_BYTES;
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(bytes.subarray(floatBytes)).toString('utf8'));
  } catch {
    return null;
  }
  const parsed = Facts.safeParse(json);
  if (!parsed.success) return null;
  const { texts, dimensions, space, used, cost, row_crcs: rowCrcs } = parsed.data;
  if (texts !== expected.texts || dimensions !== expected.dimensions || rowCrcs.length !== texts) return null;
  const found = crcsOfRows(bytes.subarray(0, floatBytes), dimensions);
  if (found.some((crc, row) => crc !== rowCrcs[row])) return null;
  return { texts, dimensions, space, used, cost, rowCrcs };
}

/** Compute the CRC-32 of each row. */
export function crcsOfRows(bytes: Uint8Array, dimensions: number): number[] {
  const rowBytes = dimensions * FLOAT_BYTES;
  const crcs: number[] = [];
  for (let at = 0; at < bytes.length; at += rowBytes) crcs.push(crc32(bytes.subarray(at, at + rowBytes)));
  return crcs;
}

/** Return the size of a row in a stored chunk, in bytes. */
export function rowBytesOf(dimensions: number): number {
  return dimensions * FLOAT_BYTES;
}
