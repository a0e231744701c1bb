/**
 * Benchmark of searches while documents are uploaded: 100 small ones a second into the bucket of 20,000 chunks that is
 * searched, one search at a time, over HTTP with a server in a separate process. A thread uploads, and searches for
 * some of the documents once, as soon as they are ready. It is measured with worker and reaper in the process of the
 * server, and in separate processes, where the server must read the commits of the worker. Arguments set the number of
 * chunks, the documents a second and the seconds.
 */
import { once } from 'node:events';
import { Worker as UploadThread } from 'node:worker_threads';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { analyse } from '../../src/language/analyser.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import type { Uploaded, Uploads } from './fresh/uploads.ts';
import { LeanClient } from './lean-client.ts';

const CHUNKS = Number(process.argv[2] ?? 20_000);
const PER_SECOND = Number(process.argv[3] ?? 100);
const SECONDS = Number(process.argv[4] ?? 20);
const QUERIES = 400;
const WARM_UP = 100;
/** Warm-up time of uploads, in which the worker loads and compiles code. */
const UPLOADS_WARM_UP_SECONDS = 3;
/** Goal: 99th percentile during the uploads, as a multiple of that without uploads. */
const RATIO_MAX = 2;
/** Name of the bucket. */
const BUCKET = 'busy';

/** Process that ingests the documents. */
type Worker = 'server' | 'apart';

const passages = readPassages(CHUNKS);
for (const worker of ['server', 'apart'] as const) await run(worker);

async function run(worker: Worker): Promise<void> {
  const { dataDir, remove } = makeDataDir();
  const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
    logger: openLogger('warn'),
  });
  const { sql } = appliance;
  try {
    const operator = await appliance.access.operator('default');
    const { id: bucketId } = await createBucket(sql, operator, { name: BUCKET, policy: BucketPolicy.parse({}) });
    const shape = { chunksPerDocument: 5, teams: 10 };
    await fillIndex(
      { sql, tables: appliance.search.lance.tables },
      { orgId: operator.orgId, bucketId },
      passages,
      shape,
    );
    // New documents get generations after those of the filled ones.
    await sql`SELECT setval('document_generations', ${CHUNKS})`;
    const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench' });
    const processes: ServiceProcess[] = [];
    const start = async (...args: string[]) => {
      const started = await startServiceProcess([...args, '--data-dir', dataDir], {});
      processes.push(started);
      return started;
    };
    try {
      const server = await start('serve', '--port', '0', ...(worker === 'apart' ? ['--no-workers'] : []));
      if (worker === 'apart') {
        await start('worker', 'ingest');
        await start('reaper');
      }
      await measure(sql, worker, String(server.ready['url']), key.reveal());
    } finally {
      await Promise.all(processes.map((each) => each.end('SIGTERM')));
    }
  } finally {
    await appliance.close();
    remove();
  }
}

async function measure(sql: Sql, worker: Worker, url: string, key: string): Promise<void> {
  const authorization = `Bearer ${key}`;
  const queries = drawQueries(passages, QUERIES).filter((query) => analyse(query).length > 0);
  const client = await LeanClient.open(`${url}/v2/buckets/${BUCKET}/search`, { authorization });
  const search = async (nth: number) => {
    const beganMs = performance.now();
    await client.post(JSON.stringify({ query: queries[nth % queries.length], top_k: 10 }));
    return performance.now() - beganMs;
  };
  const searchFor = async (seconds: number) => {
    const times: number[] = [];
    for (const untilMs = performance.now() + seconds * 1000; performance.now() < untilMs; ) {
      times.push(await search(times.length));
    }
    return times;
  };
  const quiet: number[] = [];
  for (let nth = 0; nth < QUERIES + WARM_UP; nth++) {
    const tookMs = await search(nth);
    if (nth >= WARM_UP) quiet.push(tookMs);
  }
  const seconds = UPLOADS_WARM_UP_SECONDS + SECONDS;
  const texts = passages.slice(0, PER_SECOND * seconds);
  const workerData: Uploads = { url, authorization, bucket: BUCKET, texts, perSecond: PER_SECOND, seconds };
  const uploading = once(new UploadThread(new URL('./fresh/uploads.ts', import.meta.url), { workerData }), 'message');
  await searchFor(UPLOADS_WARM_UP_SECONDS);
  const before = await countIngested(sql);
  const busy = await searchFor(SECONDS);
  const ingested = (await countIngested(sql)) - before;
  const [{ uploaded, ready, found, readyMs }] = (await uploading) as [Uploaded];
  client.close();
  const ratio = quantile(busy, 0.99) / quantile(quiet, 0.99);
  const show = (times: number[]) =>
    `${quantile(times, 0.5).toFixed(1)} ms p50, ${quantile(times, 0.99).toFixed(1)} p99`;
  console.log(
    `fresh    ${worker === 'apart' ? 'worker apart' : 'one process'}: hybrid of ${CHUNKS} chunks: ${show(quiet)}; with ${(uploaded / seconds).toFixed(0)} uploads a second, of which ` +
      `${(ingested / SECONDS).toFixed(0)} are ingested meanwhile: ` +
      `${show(busy)}; ratio at p99 ${ratio.toFixed(2)} (goal <= ${RATIO_MAX}); ` +
      `${found} of ${ready} ready documents were found by the very next search, ready after ` +
      `${(quantile(readyMs, 0.5) / 1000).toFixed(1)} s`,
  );
  if (found < ready) process.exitCode = 1;
}

async function countIngested(sql: Sql): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    SELECT count(*)::int AS count FROM jobs WHERE kind = 'ingest' AND status = 'ready'`;
  return row?.count ?? 0;
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
