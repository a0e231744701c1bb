/**
 * Reference of shortest float32 decimals, slow and exact, and floats to test with.
 */
import { createRandom } from '../support/random.ts';

const INFINITY_BITS = 0x7f80_0000;

/** Count the significant digits. */
export function countDigits(text: string): number {
  let digits = 0;
  let zeros = 0;
  for (const character of text) {
    if (character === 'e') break;
    if (character === '-' || character === '.' || (character === '0' && digits === 0)) continue;
    zeros = character === '0' ? zeros + 1 : 0;
    digits++;
  }
  return Math.max(1, digits - zeros);
}

/** Return true if the text reads back through float64 to `value`, and a text with one digit less does not. */
export function isShortest(text: string, value: number): boolean {
  if (!Object.is(Math.fround(Number(text)), value)) return false;
  const digits = countDigits(text);
  return digits === 1 || Math.fround(Number(value.toPrecision(digits - 1))) !== value;
}

export function isCanonical(text: string): boolean {
  return text === '-0' || String(Number(text)) === text;
}

/** Find the shortest of the nearest decimals of 1 to 9 digits that both kinds of reader convert to `value`. */
export function firstThatReadsBack(value: number): string {
  const bits = bitsOf(Math.abs(value));
  for (let digits = 1; digits <= 9; digits++) {
    const text = value.toPrecision(digits);
    if (Math.fround(Number(text)) === value && (value === 0 || readsBackDirectly(text, bits))) return text;
  }
  throw new Error(`9 digits do not represent ${value}`);
}

/** Return true if a reader that rounds the decimal, without its sign, directly to float32 gets these bits; exact. */
export function readsBackDirectly(text: string, bits: number): boolean {
  const [mantissa = '', power = '0'] = text.replace(/^-/, '').split('e');
  const [whole = '', decimals = ''] = mantissa.split('.');
  // All values are in units of 2^-150 * 10^-80.
  const decimal = BigInt(whole + decimals) * 10n ** BigInt(80 + Number(power) - decimals.length) * 2n ** 150n;
  const low = bits === 0 ? -1n : (steps(bits - 1) + steps(bits)) * 10n ** 80n;
  const high = (steps(bits) + steps(bits + 1)) * 10n ** 80n;
  const even = bits % 2 === 0;
  return even ? low <= decimal && decimal <= high : low < decimal && decimal < high;
}

/** Return the value of non-negative float bits in units of 2^-149. */
function steps(bits: number): bigint {
  const exponent = bits >>> 23;
  const fraction = BigInt(bits & 0x7f_ffff);
  return exponent === 0 ? fraction : (fraction + 2n ** 23n) << BigInt(exponent - 1);
}

/** List powers of two and of ten, their neighbours, limits of the module's ranges, and floats at half-way decimals. */
export function hardFloats(): number[] {
  const centres: number[] = [];
  for (let q = -149; q <= 127; q++) centres.push(2 ** q, 1.5 * 2 ** q);
  for (let k = -45; k <= 38; k++) for (let digit = 1; digit <= 9; digit++) centres.push(Number(`${digit}e${k}`));
  for (let n = 0; n < 400; n++) centres.push(2 ** 25 + 10 * n, 2 ** 26 + 20 * n, 2 ** 28 + 40 * n, n / 64, n / 100);
  const nearby = centres.flatMap((centre) => {
    const bits = bitsOf(Math.fround(centre));
    return [bits - 2, bits - 1, bits, bits + 1, bits + 2].filter((near) => near >= 0 && near < INFINITY_BITS);
  });
  return nearby.flatMap((bits) => [fromBits(bits), -fromBits(bits)]);
}

export function bitsOf(value: number): number {
  return new Uint32Array(Float32Array.of(value).buffer)[0] ?? 0;
}

export function fromBits(bits: number): number {
  return new Float32Array(Uint32Array.of(bits).buffer)[0] ?? 0;
}

/** Generate finite floats of evenly distributed bit patterns: every exponent, both signs. */
export function randomFloats(count: number, seed: number): Float32Array {
  const next = createRandom(seed).bits;
  const bits = new Uint32Array(count).map(() => {
    const pattern = next();
    // Infinities and NaNs become finite by clearing an exponent bit.
    return (pattern & INFINITY_BITS) >>> 0 === INFINITY_BITS ? pattern & 0xbfff_ffff : pattern;
  });
  return new Float32Array(bits.buffer);
}

/** Generate values of about the magnitude of those in unit vectors of 1,024 dimensions. */
export function unitVector(count: number, seed: number): Float32Array {
  const { real } = createRandom(seed);
  return new Float32Array(count).map(() => {
    let sum = 0;
    for (let i = 0; i < 4; i++) sum += real() - 0.5;
    return sum / 18;
  });
}

/** Compute 2^q / 10^k with k = floor(log10(2^q)), as a fraction. */
export function scaleOf(q: number): [numerator: bigint, denominator: bigint] {
  const [over, under] = q >= 0 ? [2n ** BigInt(q), 1n] : [1n, 2n ** BigInt(-q)];
  let [numerator, denominator] = [over, under];
  while (numerator < denominator) numerator *= 10n;
  while (numerator >= 10n * denominator) denominator *= 10n;
  return [numerator, denominator];
}

/**
 * Compute the least non-zero distance of m * x from a whole number over 0 < m < bound: no smaller m has a smaller
 * distance than the denominator of a convergent of the continued fraction of x.
 */
export function leastDistance(numerator: bigint, denominator: bigint, bound: bigint): number {
  let least = Number.POSITIVE_INFINITY;
  let [a, b] = [numerator, denominator];
  let [previous, m] = [0n, 1n];
  let [above, below] = [a, b];
  for (;;) {
    if (m >= bound) return least;
    const rest = (m * numerator) % denominator;
    const distance = rest * 2n > denominator ? denominator - rest : rest;
    if (distance === 0n) return least;
    least = Math.min(least, Number((distance << 100n) / denominator) / 2 ** 100);
    [a, b] = [above, below];
    [above, below] = [b, a % b];
    [previous, m] = [m, previous + (above / below) * m];
  }
}
