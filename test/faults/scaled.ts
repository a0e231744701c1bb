import { inject } from 'vitest';

/** How many faults a test makes: fewer where `FAULTS_SCALE` says so, at least two. */
export function scaled(faults: number): number {
  return Math.max(2, Math.round(faults * inject('faults').scale));
}
