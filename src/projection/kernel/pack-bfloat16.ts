/** Greatest magnitude of a weight that has a bfloat16: further ones are rounded to infinity. */
export const BFLOAT16_MAX = 3.38e38;

/**
 * Round packed weights to bfloat16, the upper 16 bits of a float32, to nearest, ties to even. The relative error of a
 * weight is at most 2^-9. It is independent of the other weights, so that a projected vector of many terms turns by
 * about 1.7e-3 of its length: its cosine with that of float32 is about 0.9999985.
 *
 * @param target Uint16Array [packed.length], which may be in shared memory
 * @param packed weights in the layout of `packPanels`, no magnitude above `BFLOAT16_MAX`
 */
export function packBfloat16(target: Uint16Array, packed: Float32Array): void {
  const bits = new Uint32Array(packed.buffer, packed.byteOffset, packed.length);
  for (let i = 0; i < bits.length; i++) {
    const value = bits[i] as number;
    target[i] = (value + 0x7fff + ((value >>> 16) & 1)) >>> 16;
  }
}
