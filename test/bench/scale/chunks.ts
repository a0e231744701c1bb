import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { createKey } from '../../../src/access/keys.ts';
import type { Appliance } from '../../../src/appliance/appliance.ts';
import { openAppliance } from '../../../src/appliance/open-appliance.ts';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { embedLexical } from '../../../src/embedding/providers/local.ts';
import { getIndexTable } from '../../../src/index/index-store.ts';
import { vectorQuery } from '../../../src/index/lance/legs.ts';
import { analyse } from '../../../src/language/analyser.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { until } from '../../support/until.ts';
import { watchChildMemory } from '../child-memory.ts';
import { readMetric } from '../search/open-bucket.ts';
import { documentsOf, fillChunks, passageSource } from './fill-chunks.ts';
import { type Filling, type Installation, openInstallation, report as reportLine, type Step } from './installation.ts';
import { LeanSearches } from './lean-searches.ts';
import { memoryMb, quantile, runCommand, startServer, times } from './measure.ts';

const BUCKET = 'large';
const QUERIES = 400;
const QUERY_WORDS = 8;
/** Number of warm-up rounds over all queries, so that the code is compiled. */
const WARM_UP_ROUNDS = 2;
const IN_FLIGHT = [1, 8, 32];
/** Number of queries whose vector leg is compared with an exact search. */
const RECALL_QUERIES = 30;
const TOP = 10;
/** Time limit for reading the copy of the index. */
const READ_MS_MAX = 300_000;
/** Share of the chunks to append and settle while searches run. */
const APPENDED_SHARE = 0.02;
const BACKGROUND_IN_FLIGHT = 8;

/** Filled bucket, kept for later runs. */
interface Filled {
  readonly bucketId: string;
  readonly orgId: string;
  readonly key: string;
  readonly hasArtifacts: boolean;
}

type Report = (line: string) => void;

/** Measure one bucket of many chunks: searches, recall, memory, settling, rebuild and backup. */
export async function measureChunks(count: number, steps: ReadonlySet<Step>): Promise<void> {
  const passage = passageSource(count);
  const named =
    (report: Report): Report =>
    (line) =>
      report(`${count} chunks: ${line}`);
  const report = named(reportLine);
  const installation = await openInstallation<Filled>(`chunks-${count}`, (filling) =>
    fill(passage, count, { ...filling, report: named(filling.report) }),
  );
  try {
    if (steps.has('search') || steps.has('settle'))
      await measureSearches(passage, count, { installation, steps, report });
    if (steps.has('rebuild') && installation.filled.hasArtifacts) await rebuild(installation, report);
  } finally {
    installation.remove();
  }
}

async function fill(
  passage: (nth: number) => string,
  count: number,
  { dataDir, config, report }: Filling,
): Promise<Filled> {
  const hasArtifacts = process.env['SCALE_ARTIFACTS'] !== '0';
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  let filled: Filled;
  try {
    const operator = await appliance.access.operator('default');
    const policy = BucketPolicy.parse({});
    const { id: bucketId } = await createBucket(appliance.sql, operator, { name: BUCKET, policy });
    const { key } = await createKey(appliance.sql, appliance.keyRing, operator, { name: 'bench' });
    filled = { bucketId, orgId: operator.orgId, key: key.reveal(), hasArtifacts };
    const beganMs = performance.now();
    await fillChunks(appliance, filled, passage, { from: 1, to: documentsOf(count) + 1 });
    const written = hasArtifacts ? 'rows and artifacts written' : 'rows written';
    report(`${written} in ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`);
  } finally {
    await appliance.close();
  }
  await measured('settled', report, ['index', 'optimize', '--bucket', BUCKET, '--data-dir', dataDir]);
  return filled;
}

async function measureSearches(
  passage: (nth: number) => string,
  count: number,
  of: { installation: Installation<Filled>; steps: ReadonlySet<Step>; report: Report },
): Promise<void> {
  const { steps, report } = of;
  const { dataDir, config, filled } = of.installation;
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  try {
    const { server, startMs } = await startServer(dataDir);
    try {
      report(`start ${startMs.toFixed(0)} ms`);
      const url = `${server.ready['url']}/v2/buckets/${BUCKET}/search`;
      const queries = queriesOf(passage, count);
      const searches = new LeanSearches(url, filled.key);
      const search = (own: readonly string[], flights: number, mode = 'hybrid') =>
        searches.run(own, flights, { top_k: TOP, mode });
      const first = async () => (await search(queries.slice(0, 1), 1)).ms[0] as number;
      await untilInMemory(server.ready['url'] as string, first, { count, report });
      for (let round = 0; round < WARM_UP_ROUNDS; round++) await search(queries, BACKGROUND_IN_FLIGHT);
      let settledP99 = 0;
      for (const flights of IN_FLIGHT) {
        const { ms, perSecond } = await search(queries, flights);
        if (flights === BACKGROUND_IN_FLIGHT) settledP99 = quantile(ms, 0.99);
        report(
          `hybrid, ${flights} in flight: ${times(ms)}, ${perSecond.toFixed(0)} a second${flights === BACKGROUND_IN_FLIGHT ? ' (goal <= 40 and <= 120)' : ''}`,
        );
      }
      if (steps.has('search')) {
        for (const mode of ['keyword', 'vector']) {
          const { ms } = await search(queries, BACKGROUND_IN_FLIGHT, mode);
          report(`${mode} leg alone, ${BACKGROUND_IN_FLIGHT} in flight: ${times(ms)}`);
        }
        await measureRecall(appliance, filled.bucketId, queries, report);
        const { now, peak } = memoryMb(server.pid);
        report(`memory of the server ${now.toFixed(0)} MB, at most ${peak.toFixed(0)} (goal <= 1500)`);
      }
      if (steps.has('settle')) {
        const from = (await countDocuments(appliance, filled.bucketId)) + 1;
        await fillChunks(appliance, filled, passage, { from, to: from + documentsOf(count * APPENDED_SHARE) });
        const some = () => search(queries.slice(0, 80), BACKGROUND_IN_FLIGHT);
        await searchWhileSettling(some, settledP99, report, () =>
          measured('settled again', report, ['index', 'optimize', '--bucket', BUCKET, '--data-dir', dataDir]),
        );
      }
    } finally {
      await server.end('SIGTERM');
    }
  } finally {
    await appliance.close();
  }
}

/** Wait until the server has a copy of the index. Its first search triggers the reading. */
async function untilInMemory(
  url: string,
  search: () => Promise<number>,
  { count, report }: { readonly count: number; readonly report: Report },
): Promise<void> {
  const beganMs = performance.now();
  report(`first search ${(await search()).toFixed(0)} ms`);
  const isInMemory = async () => (await readMetric(url, 'service_resident_index_rows')) >= count;
  await until(isInMemory, { withinMs: READ_MS_MAX, what: 'the copy of the index' });
  report(`copy of the index read in ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`);
}

async function countDocuments({ sql }: Appliance, bucketId: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM documents WHERE bucket_id = ${bucketId}`;
  return row?.count ?? 0;
}

async function rebuild({ dataDir }: Installation<Filled>, report: Report): Promise<void> {
  await measured('rebuilt', report, ['index', 'rebuild', '--bucket', BUCKET, '--data-dir', dataDir]);
  const target = makeDataDir();
  try {
    const args = ['db', 'backup', '--to', path.join(target.dataDir, 'backups'), '--data-dir', dataDir];
    await measured('backed up', report, args);
  } finally {
    target.remove();
  }
}

/** Run a command and report its time, and the peak memory of each kind of its children. */
async function measured(name: string, report: Report, args: readonly string[]): Promise<void> {
  let children: ReturnType<typeof watchChildMemory> | undefined;
  const ms = await runCommand(args, (pid) => {
    children = watchChildMemory(pid);
  });
  const peaks = [...(children?.stop() ?? [])].map(([module, mb]) => `${module} ${mb.toFixed(0)} MB`);
  report(`${name} in ${(ms / 1_000).toFixed(0)} s`);
  if (peaks.length > 0) report(`memory of its processes: ${peaks.join(', ')}`);
}

async function measureRecall(
  { sql, search }: Appliance,
  bucketId: string,
  queries: readonly string[],
  report: Report,
): Promise<void> {
  const own = await getIndexTable(sql, bucketId);
  if (!own) throw new Error('the bucket has no index');
  const { tables, copies } = search.lance;
  // Open it for each use, since the table is closed once the copy is complete.
  const open = () => tables.openForReading(own.name, own.version) as Promise<Table>;
  const copied = async () => (await copies?.find(own.name, own.version, open)) != null;
  await until(copied, { withinMs: READ_MS_MAX, what: 'the copy of the index' });
  const source = await search.chunks.open([own]);
  let found = 0;
  let wanted = 0;
  for (const query of queries.slice(0, RECALL_QUERIES)) {
    const vector = embedLexical([query]).subarray(0, INDEX_DIMENSIONS);
    const options = { limit: TOP, documentIds: null };
    const exact = await vectorQuery(await open(), vector, options)
      .bypassVectorIndex()
      .toArray();
    const ours = (await source?.searchVectors(vector, options)) ?? [];
    const lowest = Math.max(...exact.map((row) => row['_distance'] as number));
    // Count rows as near as the last exact one, since many chunks share half of their text.
    found += ours.filter(({ score }) => 1 - score <= lowest + 1e-5).length;
    wanted += exact.length;
  }
  report(`recall@${TOP} of the vector leg against exact: ${(found / wanted).toFixed(4)} (goal >= 0.98)`);
}

async function searchWhileSettling(
  search: () => Promise<{ readonly ms: readonly number[] }>,
  settledP99: number,
  report: Report,
  settle: () => Promise<void>,
): Promise<void> {
  let isSettling = true;
  const settling = settle().finally(() => {
    isSettling = false;
  });
  const ms: number[] = [];
  while (isSettling) ms.push(...(await search()).ms);
  await settling;
  report(
    `hybrid while it settles, ${BACKGROUND_IN_FLIGHT} in flight: ${times(ms)}; ${(quantile(ms, 0.99) / settledP99).toFixed(2)} of the settled p99 (goal <= 2)`,
  );
}

function queriesOf(passage: (nth: number) => string, count: number): string[] {
  return Array.from({ length: QUERIES }, (_, nth) =>
    passage(Math.floor(((nth + 0.5) * count) / QUERIES))
      .split(' ')
      .slice(3, 3 + QUERY_WORDS)
      .join(' '),
  ).filter((query) => analyse(query).length > 0);
}
