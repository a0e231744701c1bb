import { setFlagsFromString } from 'node:v8';

/**
 * Calls after which V8 compiles a function by its optimizing compilers (Maglev, then TurboFan), and calls that it waits for
 * after a new type was seen; its defaults are 400, 3,000 and 500. Flags and defaults: `node --v8-options`.
 */
const FLAGS = [
  '--invocation-count-for-maglev=100',
  '--invocation-count-for-turbofan=400',
  '--minimum-invocations-after-ic-update=100',
];

/** Major versions of V8 that have these flags, those of Node.js 22 and 24: one without them would complain on standard error. */
const MAJORS = ['12', '13'];

/**
 * Have V8 optimise functions after fewer calls than it does by default, in all threads of this process from now on
 * (`docs/decisions/0062-servers-optimize-sooner.md`). To be called when a server has started: the code of a start runs once, and
 * to optimise it would only make the start longer.
 *
 * @returns false if nothing is known about the flags of this version of V8, which then keeps its defaults
 */
export function optimizeSooner(v8Version = process.versions.v8): boolean {
  if (!MAJORS.includes(v8Version.split('.', 1)[0] as string)) return false;
  for (const flag of FLAGS) setFlagsFromString(flag);
  return true;
}
