import { inject } from 'vitest';

/** Return the number of faults of a test, scaled by `FAULTS_SCALE`, at least two. */
export function scaled(faults: number): number {
  return Math.max(2, Math.round(faults * inject('faults').scale));
}
