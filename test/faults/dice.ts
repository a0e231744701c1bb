import { inject } from 'vitest';

/** Pseudo-random choices, the same for the same seed; when they fall is up to the machine. */
export interface Dice {
  /** From 0 to `below` - 1. */
  int(below: number): number;
  pick<T>(from: readonly T[]): T;
}

/** Choices of one test in the run of the seed that `FAULTS_SEED` names, or of a random one that was printed. */
export function throwDice(test: string): Dice {
  let state = inject('faults').seed;
  for (const character of test) state = Math.imul(state ^ character.charCodeAt(0), 0x01000193);
  const next = (): number => {
    // SplitMix32: the golden ratio's increments through the finaliser of MurmurHash3.
    state = (state + 0x9e3779b9) | 0;
    let bits = state ^ (state >>> 16);
    bits = Math.imul(bits, 0x85ebca6b);
    bits ^= bits >>> 13;
    bits = Math.imul(bits, 0xc2b2ae35);
    return ((bits ^ (bits >>> 16)) >>> 0) / 2 ** 32;
  };
  const int = (below: number) => Math.floor(next() * below);
  return { int, pick: (from) => from[int(from.length)] as (typeof from)[number] };
}

/** How many faults a test makes: fewer where `FAULTS_SCALE` says so, at least two. */
export function scaled(faults: number): number {
  return Math.max(2, Math.round(faults * inject('faults').scale));
}
