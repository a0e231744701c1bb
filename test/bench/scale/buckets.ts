import { createKey } from '../../../src/access/keys.ts';
import { openAppliance } from '../../../src/appliance/open-appliance.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { readPassages } from '../../support/real-passages.ts';
import { LeanClient } from '../lean-client.ts';
import {
  bucketName,
  CHUNKS_PER_BUCKET,
  fillBuckets,
  type IndexedPassage,
  indexPassages,
  passageAt,
  queryOf,
} from './fill-buckets.ts';
import { type Filling, type Installation, openInstallation, report, type Step } from './installation.ts';
import { memoryMb, openFiles, quantile, startServer, times } from './measure.ts';

const PASSAGES = 20_000;
/** Number of buckets of the small installation to compare with. */
const FEW = 40;
const SEARCHES = 400;
/** Number of buckets to search for the first time on a server. */
const FIRST_SEARCHES = 1_000;
const WARM_UP = 60;
const STARTS = 3;
/** Minimum time of a chore to show. */
const CHORE_MS_MIN = 20;

interface Figures {
  readonly startMs: number;
  /** Searches of the same bucket. */
  readonly repeated: readonly number[];
  /** Searches of buckets in turn, each for the first time. */
  readonly first: readonly number[];
  /** Searches of any buckets. */
  readonly any: readonly number[];
}

/** Measure many buckets of a hundred chunks, compared with an installation with a few of them. */
export async function measureBuckets(count: number, steps: ReadonlySet<Step>): Promise<void> {
  const passages = indexPassages(readPassages(PASSAGES));
  const installations = [];
  for (const size of [Math.min(FEW, count), count]) {
    installations.push(await openInstallation(`buckets-${size}`, (filling) => fill(passages, size, filling)));
  }
  const [small, large] = installations as [Filled, Filled];
  try {
    if (!steps.has('search')) return;
    compare(count, await measure(passages, Math.min(FEW, count), small), await measure(passages, count, large));
  } finally {
    for (const { remove } of installations) remove();
  }
}

type Filled = Installation<{ readonly key: string }>;

function compare(count: number, few: Figures, many: Figures): void {
  const ratio = (a: readonly number[], b: readonly number[]) => (quantile(a, 0.5) / quantile(b, 0.5)).toFixed(2);
  report(
    `${count} buckets of ${CHUNKS_PER_BUCKET} chunks: start ${many.startMs.toFixed(0)} ms (${few.startMs.toFixed(0)} with ${FEW}; goal <= 2500)`,
  );
  report(`one bucket again and again: ${times(many.repeated)} (${times(few.repeated)} with ${FEW})`);
  report(
    `any of ${count} buckets: ${times(many.any)}; ${ratio(many.any, few.repeated)} of one bucket alone at p50 (goal <= 1.5), ${ratio(many.any, many.repeated)} of one bucket of the same server`,
  );
  report(
    `first search of a bucket: ${times(many.first)}; ${ratio(many.first, few.first)} of that with ${FEW} buckets at p50`,
  );
}

async function measure(
  passages: readonly IndexedPassage[],
  count: number,
  { dataDir, filled }: Filled,
): Promise<Figures> {
  const starts: number[] = [];
  for (let nth = 0; nth < STARTS; nth++) {
    const { server, startMs } = await startServer(dataDir);
    starts.push(startMs);
    await server.end('SIGTERM');
  }
  return { startMs: quantile(starts, 0.5), ...(await search(passages, count, dataDir, filled.key)) };
}

async function fill(
  passages: readonly IndexedPassage[],
  count: number,
  { config, report }: Filling,
): Promise<{ key: string }> {
  const beganMs = performance.now();
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  try {
    const operator = await appliance.access.operator('default');
    await fillBuckets(appliance, passages, { count, orgOf: () => operator.orgId });
    report(`${count} buckets written in ${((performance.now() - beganMs) / 1_000).toFixed(0)} s`);
    const { key } = await createKey(appliance.sql, appliance.keyRing, operator, { name: 'bench' });
    const { signal } = new AbortController();
    for (const chore of appliance.chores()) {
      // The first run also plans its queries.
      await chore.run(signal);
      const beganMs = performance.now();
      await chore.run(signal);
      const tookMs = performance.now() - beganMs;
      if (tookMs > CHORE_MS_MIN)
        report(`chore of the reaper with ${count} buckets: ${chore.name}, ${tookMs.toFixed(0)} ms`);
    }
    return { key: key.reveal() };
  } finally {
    await appliance.close();
  }
}

async function search(
  passages: readonly IndexedPassage[],
  count: number,
  dataDir: string,
  key: string,
): Promise<Omit<Figures, 'startMs'>> {
  const { server } = await startServer(dataDir);
  const { pid } = server;
  const client = await LeanClient.open(server.ready['url'] as string, { authorization: `Bearer ${key}` });
  const searchOne = async (bucket: number, nth: number) => {
    const place = (nth * 13) % CHUNKS_PER_BUCKET;
    const body = JSON.stringify({ query: queryOf(passageAt(passages, bucket, place)), top_k: 10 });
    const beganMs = performance.now();
    const reply = await client.post(body, `/v2/buckets/${bucketName(bucket)}/search`);
    const tookMs = performance.now() - beganMs;
    const { results } = JSON.parse(reply.toString()) as { results: readonly unknown[] };
    if (results.length === 0) throw new Error(`bucket ${bucket} has nothing for ${body}`);
    return tookMs;
  };
  const repeat = async (searches: number, bucketOf: (nth: number) => number) => {
    const ms: number[] = [];
    for (let nth = 0; nth < searches; nth++) ms.push(await searchOne(bucketOf(nth), nth));
    return ms;
  };
  try {
    const repeated = (await repeat(WARM_UP + SEARCHES, () => 0)).slice(WARM_UP);
    const before = { ...openFiles(pid), memory: memoryMb(pid).now };
    const first = await repeat(
      Math.min(FIRST_SEARCHES, count - 1),
      (nth) => 1 + Math.floor((nth * (count - 1)) / Math.min(FIRST_SEARCHES, count - 1)),
    );
    const any = await repeat(SEARCHES, (nth) => (nth * 7_919) % count);
    const after = { ...openFiles(pid), memory: memoryMb(pid).now };
    report(
      `${first.length} of ${count} buckets searched: ${before.files} open files and ${before.sockets} sockets before, ` +
        `${after.files} and ${after.sockets} after; memory of the server ${before.memory.toFixed(0)} MB before, ${after.memory.toFixed(0)} MB after`,
    );
    return { repeated, first, any };
  } finally {
    client.close();
    await server.end('SIGTERM');
  }
}
