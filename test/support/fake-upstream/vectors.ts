/**
 * Return the vector of the fake upstream: a pseudo-random unit vector, seeded by model and text, so that a test can
 * compute it too. A shorter vector is the normalised prefix of a longer one, as with Matryoshka models.
 *
 * @returns Float32Array [dimensions], L2-normalised in float64
 */
export function vectorOf(model: string, text: string, dimensions: number): Float32Array {
  let state = seedOf(`${model}\u0000${text}`);
  const raw = new Float64Array(dimensions);
  let squares = 0;
  for (let index = 0; index < dimensions; index++) {
    state = (state + 0x9e3779b9) | 0;
    const value = mix(state) / 0x80000000;
    raw[index] = value;
    squares += value * value;
  }
  const norm = Math.sqrt(squares);
  return Float32Array.from(raw, (value) => value / norm);
}

/** Encode the little-endian float32 values as Base64. */
export function base64Of(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
}

/** Hash UTF-16 code units with FNV-1a. */
function seedOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}

/** Apply the finaliser of MurmurHash3, to a signed 32-bit number. */
function mix(state: number): number {
  let bits = state ^ (state >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
