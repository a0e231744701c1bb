import { INDEX_DIMENSIONS } from '../../projection/resize.ts';

/** Seed of the random signs: the same on every machine, so that equal vectors score equally everywhere. */
const SIGNS_SEED = 0x9e3779b9;

/** Generate signs with xorshift32 (Marsaglia, 2003): Float32Array [2 x 1024] of 1 and -1. */
export function randomSigns(): Float32Array {
  let state = SIGNS_SEED;
  return Float32Array.from({ length: 2 * INDEX_DIMENSIONS }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state < 0 ? -1 : 1;
  });
}
