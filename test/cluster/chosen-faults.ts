import { inject } from 'vitest';

const SECONDS = 6;

/** Return the duration of each fault; `FAULTS_SCALE=10` makes it a minute. */
export function faultSeconds(): number {
  return SECONDS * inject('faults').scale;
}

/** Filter faults to those whose name matches the regular expression `FAULTS_ONLY`; without one all remain. */
export function chosenFaults<F extends { readonly name: string }>(faults: readonly F[]): F[] {
  const only = new RegExp(inject('faults').only, 'i');
  return faults.filter(({ name }) => only.test(name));
}
