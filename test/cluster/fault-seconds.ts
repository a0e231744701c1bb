import { inject } from 'vitest';

const SECONDS = 6;

/** Return the duration of each fault; `FAULTS_SCALE=10` makes it a minute. */
export function faultSeconds(): number {
  return SECONDS * inject('faults').scale;
}
