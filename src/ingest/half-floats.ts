// IEEE 754 binary16 as bits in a Uint16Array, since Float16Array requires Node.js 24.

/** True if the engine converts the numbers, which takes half the time. */
const HAS_FLOAT16 = typeof Float16Array !== 'undefined';

const ONE_HALF_BITS = 0x3f00_0000;
/** Bits of 2^16 and 2^-14. Values from 2^16 become infinity, values below 2^-14 become subnormal. */
const INFINITE_BITS = 0x4780_0000;
const NORMAL_BITS = 0x3880_0000;
const NAN_BITS = 0x7f80_0000;
const REBIAS = (127 - 15) << 23;

/**
 * Convert vectors to binary16, rounded to nearest, ties to even. For |x| < 65,520 the error is at most
 * max(2^-11 |x|, 2^-25), so a unit vector of up to 16,384 dimensions keeps its direction: cosine above 1 - 2^-22.
 */
export function toHalves(values: Float32Array): Uint16Array<ArrayBuffer> {
  return HAS_FLOAT16 ? new Uint16Array(new Float16Array(values).buffer) : halvesByBits(values);
}

/** Convert vectors to binary16 like `toHalves`, without the engine's support. */
export function halvesByBits(values: Float32Array): Uint16Array<ArrayBuffer> {
  const halves = new Uint16Array(values.length);
  const floats = new Float32Array(1);
  const asBits = new Int32Array(floats.buffer);
  const bits = new Int32Array(values.buffer, values.byteOffset, values.length);
  for (let i = 0; i < bits.length; i++) {
    const all = bits[i] as number;
    const sign = (all >>> 16) & 0x8000;
    const magnitude = all & 0x7fff_ffff;
    let half: number;
    if (magnitude >= INFINITE_BITS) half = magnitude > NAN_BITS ? 0x7e00 : 0x7c00;
    else if (magnitude < NORMAL_BITS) {
      // The last place of the sum with 1/2 is 2^-24, the step of subnormal numbers, so the addition rounds correctly.
      asBits[0] = magnitude;
      floats[0] = (floats[0] as number) + 0.5;
      half = (asBits[0] as number) - ONE_HALF_BITS;
    } else {
      // Add just under half of the last kept place, and one more if that place is odd, so that ties round to even.
      half = (magnitude - REBIAS + 0xfff + ((magnitude >>> 13) & 1)) >>> 13;
    }
    halves[i] = sign | half;
  }
  return halves;
}

let table: Float32Array | null = null;

/** Compute the values of all 65,536 numbers. */
function makeTable(): Float32Array {
  return Float32Array.from({ length: 0x1_0000 }, (_, half) => {
    const exponent = (half >>> 10) & 0x1f;
    const fraction = half & 0x3ff;
    const sign = half & 0x8000 ? -1 : 1;
    if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  });
}

/** Convert binary16 to float32 exactly. */
export function fromHalves(halves: Uint16Array): Float32Array<ArrayBuffer> {
  table ??= makeTable();
  const values = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) values[i] = table[halves[i] as number] as number;
  return values;
}

/**
 * Convert binary16 to float32, and L2-normalise each row again.
 * @param halves binary16 [n x dimension], row-major
 * @returns Float32Array [n x dimension]; a row of zeros stays unchanged
 */
export function unitRowsOf(halves: Uint16Array, dimension: number): Float32Array<ArrayBuffer> {
  const rows = fromHalves(halves);
  for (let start = 0; start < rows.length; start += dimension) {
    let squares = 0;
    for (let i = start; i < start + dimension; i++) squares += (rows[i] as number) ** 2;
    if (squares === 0) continue;
    const scale = 1 / Math.sqrt(squares);
    for (let i = start; i < start + dimension; i++) rows[i] = (rows[i] as number) * scale;
  }
  return rows;
}
