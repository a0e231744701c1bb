/**
 * Benchmark of `POST /v1/memory/search` over 20 buckets of 5,000 chunks each, and over one of them, one search at a time,
 * over HTTP with a server in a separate process. Arguments set the number of buckets and of chunks.
 */
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { analyse } from '../../src/language/analyser.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { LeanClient } from './lean-client.ts';

const BUCKETS = Number(process.argv[2] ?? 20);
const CHUNKS = Number(process.argv[3] ?? 5_000);
const CHUNKS_PER_DOCUMENT = 5;
const QUERIES = 300;
/** Warm-up queries, since a new server opens the tables and runs uncompiled code. */
const WARM_UP = 60;
/** Queries per batch. Batches over one bucket and over all of them alternate. */
const BATCH = 20;
/** Goal: median over all buckets as a multiple of that over one. */
const RATIO_MAX = 3;

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const { sql } = appliance;
const passages = readPassages(BUCKETS * CHUNKS);
const names = Array.from({ length: BUCKETS }, (_, nth) => `bucket-${nth}`);
try {
  const operator = await appliance.access.operator('default');
  for (const [nth, name] of names.entries()) {
    const { id: bucketId } = await createBucket(sql, operator, { name, policy: BucketPolicy.parse({}) });
    const after = nth * Math.ceil(CHUNKS / CHUNKS_PER_DOCUMENT);
    // Give every bucket passages of all packages, so that each has something to find.
    const own = passages.filter((_, at) => at % BUCKETS === nth);
    const shape = { chunksPerDocument: CHUNKS_PER_DOCUMENT, teams: 10, after };
    await fillIndex({ sql, tables: appliance.search.lance.tables }, { orgId: operator.orgId, bucketId }, own, shape);
  }
  const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench' });
  const server = await startServiceProcess(['serve', '--no-workers', '--port', '0', '--data-dir', dataDir], {});
  try {
    await measure(`${server.ready['url']}/v1/memory/search`, key.reveal());
  } finally {
    await server.end('SIGTERM');
  }
} finally {
  await appliance.close();
  remove();
}

async function measure(url: string, key: string): Promise<void> {
  const queries = drawQueries(passages, QUERIES).filter((query) => analyse(query).length > 0);
  const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
  const search = async (query: string, buckets: readonly string[]) => {
    const body = JSON.stringify({ query, buckets, top_k: 10 });
    const beganMs = performance.now();
    const reply = await client.post(body);
    const tookMs = performance.now() - beganMs;
    const { results } = JSON.parse(reply.toString()) as { results: unknown[] };
    if (results.length === 0) throw new Error(`the search found nothing for "${query}"`);
    return tookMs;
  };
  const times = { one: [] as number[], all: [] as number[] };
  for (let first = 0; first < queries.length; first += BATCH) {
    for (const [nth, query] of queries.slice(first, first + BATCH).entries()) {
      const tookMs = await search(query, [names[nth % BUCKETS] as string]);
      if (first >= WARM_UP) times.one.push(tookMs);
    }
    for (const query of queries.slice(first, first + BATCH)) {
      const tookMs = await search(query, names);
      if (first >= WARM_UP) times.all.push(tookMs);
    }
  }
  client.close();
  const ratio = quantile(times.all, 0.5) / quantile(times.one, 0.5);
  const show = (values: number[]) =>
    `${quantile(values, 0.5).toFixed(1)} ms p50, ${quantile(values, 0.95).toFixed(1)} p95`;
  console.log(
    `memory   ${BUCKETS} buckets of ${CHUNKS} chunks: ${show(times.all)}; one bucket: ${show(times.one)}; ` +
      `ratio at p50 ${ratio.toFixed(2)} (goal <= ${RATIO_MAX})`,
  );
}

function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}
