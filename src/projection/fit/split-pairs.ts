/** Create a generator of numbers in [0, 1) (Mulberry32, T. Ettinger), for splits and samples, not for secrets. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Shuffle 0 .. count - 1 in an order determined only by the seed (Fisher and Yates). */
export function shuffledIndices(count: number, seed: number): Int32Array {
  const random = seededRandom(seed);
  const indices = Int32Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const moved = indices[i] as number;
    indices[i] = indices[j] as number;
    indices[j] = moved;
  }
  return indices;
}

/** Split the pairs into a fitting part and an evaluation part, each with at least one pair. */
export function splitPairs(
  count: number,
  heldOutShare: number,
  seed: number,
): { readonly fitted: Int32Array; readonly heldOut: Int32Array } {
  const indices = shuffledIndices(count, seed);
  const kept = Math.min(Math.max(Math.round(count * heldOutShare), 1), count - 1);
  return { fitted: indices.subarray(kept), heldOut: indices.subarray(0, kept) };
}
