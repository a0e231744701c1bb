/** Pseudo-random choices, the same for the same seed; when they fall is up to the machine. */
export interface Dice {
  /** 32 bits, as a whole number from 0. */
  bits(): number;
  /** 0 <= x < 1. */
  real(): number;
  /** From 0 to `below` - 1. */
  int(below: number): number;
  pick<T>(from: readonly T[]): T;
}

/** The seed that `TEST_SEED` asks for, else `otherwise`. */
export function readSeed(otherwise: number): number {
  const asked = process.env['TEST_SEED'];
  return asked === undefined ? otherwise : Number(asked);
}

/** Seed of the whole run, for properties too. It is always the same unless asked for: a test that passes passes again. */
export const SEED = readSeed(1);

let isThrown = false;

/** Choices of this seed: SplitMix32, the golden ratio's increments through the finaliser of MurmurHash3. */
export function rollDice(seed: number): Dice {
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

/** Choices of one test, named, in the run of `SEED`. */
export function throwDice(test: string): Dice {
  isThrown = true;
  let seed = SEED;
  for (const character of test) seed = Math.imul(seed ^ character.charCodeAt(0), 0x01000193);
  return rollDice(seed);
}

/** Whether a test of this file made choices of the run's seed. */
export function wereDiceThrown(): boolean {
  return isThrown;
}
