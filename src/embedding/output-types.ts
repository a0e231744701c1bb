import { z } from 'zod';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { notFinite } from '../printing/float-printer.ts';

/** Number formats of vectors, named as in the APIs of Voyage and Cohere. */
export const OutputType = z.enum(['float', 'int8', 'uint8', 'binary', 'ubinary']);
export type OutputType = z.output<typeof OutputType>;

/**
 * Integer value of 1.0. Values beyond ±0.635 are clipped. The scale is the same for every vector, so that dot products,
 * cosines and distances stay comparable. Recall is lower with 127 (no clipping, coarser steps) and with 254.
 */
const STEPS = 200;
const STEP_MAX = 127;
/** Added to a signed byte to make an unsigned one. */
const BYTE_OFFSET = 128;
const BITS = 8;
/** Floats to convert between yields to the event loop: about 1 ms of work. */
const FLOATS_PER_SLICE = 40_000;

/** Vectors in an output type, row-major. */
export interface OutputRows {
  readonly rows: Float32Array | Int8Array | Uint8Array;
  readonly columns: number;
}

/**
 * Convert unit vectors into an output type.
 *
 * - `int8`: `round(200 · value)`, clipped to ±127; `uint8`: the same plus 128
 * - `ubinary`: the signs of the rotated vector, 1 for positive, eight to a byte with the first in the highest bit;
 *   `binary`: the same byte minus 128
 *
 * @param vectors Float32Array [n x d], row-major
 * @param type null for floats
 * @returns rows of d columns, or of d/8, rounded up, for the binary types
 * @throws AppError `embedding_not_finite` (502)
 */
export async function convertVectors(
  vectors: Float32Array,
  d: number,
  type: OutputType | null | undefined,
): Promise<OutputRows> {
  if (!type || type === 'float') return { rows: vectors, columns: d };
  const bad = vectors.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw notFinite(bad);
  const isBinary = type === 'binary' || type === 'ubinary';
  const columns = isBinary ? Math.ceil(d / BITS) : d;
  const Bytes = type === 'int8' || type === 'binary' ? Int8Array : Uint8Array;
  const rows = new Bytes((vectors.length / d) * columns);
  const write = isBinary ? writeSigns : writeSteps;
  const rowsPerSlice = Math.max(1, Math.floor(FLOATS_PER_SLICE / d));
  for (let row = 0; row * d < vectors.length; row++) {
    if (row > 0 && row % rowsPerSlice === 0) await yieldToEventLoop();
    write(vectors.subarray(row * d, (row + 1) * d), rows.subarray(row * columns, (row + 1) * columns));
  }
  return { rows, columns };
}

function writeSteps(vector: Float32Array, target: Int8Array | Uint8Array): void {
  const offset = target instanceof Uint8Array ? BYTE_OFFSET : 0;
  for (let index = 0; index < vector.length; index++) {
    const steps = Math.round(STEPS * (vector[index] as number));
    target[index] = Math.max(-STEP_MAX, Math.min(STEP_MAX, steps)) + offset;
  }
}

function writeSigns(vector: Float32Array, target: Int8Array | Uint8Array): void {
  const offset = target instanceof Uint8Array ? 0 : BYTE_OFFSET;
  const rotated = rotate(vector);
  for (let byte = 0; byte < target.length; byte++) {
    let bits = 0;
    for (let index = byte * BITS; index < (byte + 1) * BITS; index++) {
      const isSet = index < vector.length && (rotated[index] as number) > 0;
      bits = bits * 2 + (isSet ? 1 : 0);
    }
    target[byte] = bits - offset;
  }
}

/**
 * Spread the variance of a vector evenly over its axes. Canonical axes are ordered by variance, so their signs alone
 * carry little information. The rotation is two rounds of random signs and a Walsh-Hadamard transform (Ailon and
 * Chazelle, "The fast Johnson-Lindenstrauss transform", 2009). It never changes, since clients store the bits.
 */
function rotate(vector: Float32Array): Float64Array {
  const rotated = new Float64Array(2 ** Math.ceil(Math.log2(vector.length)));
  rotated.set(vector);
  let state = 1;
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < rotated.length; index++) {
      // The generator is that of "Numerical Recipes", whose highest bit is the most random one.
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      if (state >= 2 ** 31) rotated[index] = -(rotated[index] as number);
    }
    transform(rotated);
  }
  return rotated;
}

/** Apply the Walsh-Hadamard transform in place, without normalisation. The length is a power of two. */
function transform(values: Float64Array): void {
  for (let half = 1; half < values.length; half *= 2) {
    for (let start = 0; start < values.length; start += 2 * half) {
      for (let index = start; index < start + half; index++) {
        const first = values[index] as number;
        const second = values[index + half] as number;
        values[index] = first + second;
        values[index + half] = first - second;
      }
    }
  }
}
