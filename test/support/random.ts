/** Pseudo-random generator whose choices depend only on its seed. The timing of each choice depends on the machine. */
export interface SeededRandom {
  /** 32 bits, as a whole number from 0. */
  bits(): number;
  /** Real number, 0 <= x < 1. */
  real(): number;
  /** Whole number from 0 to `below` - 1. */
  int(below: number): number;
  pick<T>(from: readonly T[]): T;
}

/** Return the seed of `TEST_SEED` if it is set, else `fallback`. */
export function readSeed(fallback: number): number {
  const set = process.env['TEST_SEED'];
  return set === undefined ? fallback : Number(set);
}

/** Seed of the whole run, for properties too. It is constant unless `TEST_SEED` is set, so that results repeat. */
export const SEED = readSeed(1);

let isSeedUsed = false;

/** Create a generator of this seed: SplitMix32, the golden ratio's increments through the finaliser of MurmurHash3. */
export function createRandom(seed: number): SeededRandom {
  let state = seed | 0;
  const bits = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x85ebca6b);
    mixed ^= mixed >>> 13;
    mixed = Math.imul(mixed, 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const real = () => bits() / 2 ** 32;
  const int = (below: number) => Math.floor(real() * below);
  return { bits, real, int, pick: (from) => from[int(from.length)] as (typeof from)[number] };
}

/** Create the generator of one named test, seeded by the name and `SEED`. */
export function createTestRandom(test: string): SeededRandom {
  isSeedUsed = true;
  let seed = SEED;
  for (const character of test) seed = Math.imul(seed ^ character.charCodeAt(0), 0x01000193);
  return createRandom(seed);
}

/** Return true if a test of this file created a generator from the seed of the run. */
export function wasSeedUsed(): boolean {
  return isSeedUsed;
}
