import type { Dice } from '../faults/dice.ts';

/** Pseudo-random choices, the same for the same seed (a linear congruential generator with the output permuted: PCG). */
export function rollDice(seed: number): Dice {
  let state = BigInt.asUintN(64, BigInt(seed) * 0x9e3779b97f4a7c15n + 0x14057b7ef767814fn);
  const next = (): number => {
    state = BigInt.asUintN(64, state * 6364136223846793005n + 1442695040888963407n);
    const bits = Number((((state >> 18n) ^ state) >> 27n) & 0xffffffffn);
    const turn = Number(state >> 59n);
    return ((bits >>> turn) | (bits << (-turn & 31))) >>> 0;
  };
  const int = (below: number) => Math.floor((next() / 2 ** 32) * below);
  return { int, pick: (from) => from[int(from.length)] as (typeof from)[number] };
}
