/**
 * Benchmark of the growth of one node: many buckets, many organizations, one large bucket. Options choose parts, each with
 * its size: `npm run bench -- scale --buckets 500 --organizations 100 --chunks 50000`; without any, all parts run in full
 * size. `--steps fill` only fills the data directories, `--steps search,settle` does some of what follows (`search`, `settle`
 * and `rebuild`; all by default). With `SCALE_KEPT_IN=DIR` filled directories are kept in a folder, and used again by the
 * next run of the same size. `SCALE_ARTIFACTS=0` fills without artifacts, so that nothing can be rebuilt.
 */
import { parseArgs } from 'node:util';
import { measureBuckets } from './scale/buckets.ts';
import { measureChunks } from './scale/chunks.ts';
import { isStep, STEPS } from './scale/installation.ts';
import { measureOrganizations } from './scale/organizations.ts';

const PARTS = {
  buckets: { size: 10_000, measure: measureBuckets },
  organizations: { size: 1_000, measure: measureOrganizations },
  chunks: { size: 1_000_000, measure: measureChunks },
} as const;

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { buckets: text, organizations: text, chunks: text, steps: text } });
const steps = values.steps === undefined ? STEPS : values.steps.split(',').filter(isStep);
const isAll = Object.keys(PARTS).every((part) => !(part in values));
for (const [part, { size, measure }] of Object.entries(PARTS)) {
  const given = values[part as keyof typeof PARTS];
  if (isAll || given !== undefined) await measure(Number(given ?? size), new Set(steps));
}
