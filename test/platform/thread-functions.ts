/** Functions that the tests of `threads.ts` run on threads; `at` is a counter in shared memory. */

export function count(at: Int32Array): number {
  return Atomics.add(at, 0, 1) + 1;
}

/** Count a start, and return once the second counter is not 0. */
export function hold(at: Int32Array): string {
  Atomics.add(at, 0, 1);
  Atomics.notify(at, 0);
  Atomics.wait(at, 1, 0);
  return 'released';
}

/** Count starts for ever. */
export function spin(at: Int32Array): never {
  for (;;) Atomics.add(at, 0, 1);
}

export function busy(milliseconds: number): number {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
  return milliseconds;
}

export function fail(message: string): never {
  throw new Error(message);
}
