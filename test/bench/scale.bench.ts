/**
 * Benchmark of the growth of one node: many buckets, many organizations, one large bucket. Arguments choose parts, each
 * with its size: `node test/bench/scale.bench.ts buckets 500 organizations 100 chunks 50000`; without a size a part has
 * its full one, and without arguments all parts run.
 */
import { measureBuckets } from './scale/buckets.ts';
import { measureChunks } from './scale/chunks.ts';
import { measureOrganizations } from './scale/organizations.ts';

const PARTS = {
  buckets: { size: 10_000, measure: measureBuckets },
  organizations: { size: 1_000, measure: measureOrganizations },
  chunks: { size: 1_000_000, measure: measureChunks },
} as const;
type Part = keyof typeof PARTS;

const chosen: { part: Part; size: number }[] = [];
for (const argument of process.argv.slice(2)) {
  const last = chosen.at(-1);
  if (Object.hasOwn(PARTS, argument)) chosen.push({ part: argument as Part, size: PARTS[argument as Part].size });
  else if (/^[1-9]\d*$/.test(argument) && last) last.size = Number(argument);
  else {
    console.error(`"${argument}" is neither a part nor a size. Parts: ${Object.keys(PARTS).join(', ')}.`);
    process.exit(2);
  }
}
const all = Object.entries(PARTS).map(([part, { size }]) => ({ part: part as Part, size }));
for (const { part, size } of chosen.length > 0 ? chosen : all) await PARTS[part].measure(size);
