/**
 * Benchmark of `POST /v2/buckets/{bucket}/search` in a bucket of 50,000 chunks, over HTTP with a server in a separate
 * process, one search at a time. Alternating with them, on the same table, it runs the raw LanceDB calls of such a
 * search. An argument sets the number of chunks.
 */

import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { getIndexTable } from '../../src/search/index-store.ts';
import { keywordQuery, vectorQuery } from '../../src/search/legs.ts';
import { makeDataDir } from '../support/appliance.ts';
import { fillIndex } from '../support/fill-index.ts';
import { drawQueries, readPassages } from '../support/real-passages.ts';
import { startServiceProcess } from '../support/service-process.ts';
import { LeanClient } from './lean-client.ts';

const CHUNKS = Number(process.argv[2] ?? 50_000);
const CHUNKS_PER_DOCUMENT = 5;
const TEAMS = 200;
const QUERIES = 600;
/** Queries that are not counted, since a new server runs code that is not compiled yet. */
const WARM_UP = 120;
/** Queries of a batch. Batches of the service and of raw calls alternate. */
const BATCH = 30;
/** First queries of a batch, which are not counted, since the CPU's caches hold the data of the other process. */
const BATCH_WARM_UP = 5;
/** First limit of each leg of a search for ten results. */
const CANDIDATES = 60;

type Mode = 'hybrid' | 'vector' | 'keyword';
interface Row {
  readonly name: string;
  readonly mode: Mode;
  readonly filter: Record<string, unknown> | undefined;
}
const ROWS: readonly Row[] = [
  { name: 'hybrid', mode: 'hybrid', filter: undefined },
  { name: 'vector', mode: 'vector', filter: undefined },
  { name: 'keyword', mode: 'keyword', filter: undefined },
  { name: `hybrid, filter (1 in ${TEAMS})`, mode: 'hybrid', filter: { team: 'team-7' } },
];

const { dataDir, remove } = makeDataDir();
const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
const passages = readPassages(CHUNKS);
const appliance = await openAppliance(config, { logger: openLogger('warn') });
const { sql } = appliance;
try {
  const operator = await appliance.access.operator('default');
  const { id: bucketId } = await createBucket(sql, operator, { name: 'large', policy: BucketPolicy.parse({}) });
  const place = { orgId: operator.orgId, bucketId };
  const shape = { chunksPerDocument: CHUNKS_PER_DOCUMENT, teams: TEAMS };
  await fillIndex({ sql, tables: appliance.search.tables }, place, passages, shape);
  const { key } = await createKey(sql, appliance.keyRing, operator, { name: 'bench' });
  const server = await startServiceProcess(['serve', '--no-workers', '--port', '0', '--data-dir', dataDir], {});
  try {
    await measure(`${server.ready['url']}/v2/buckets/large/search`, key.reveal(), bucketId);
  } finally {
    await server.end('SIGTERM');
  }
} finally {
  await appliance.close();
  remove();
}

async function measure(url: string, key: string, bucketId: string): Promise<void> {
  const own = await getIndexTable(sql, bucketId);
  const table = own && (await appliance.search.tables.openForReading(own.name, own.version));
  if (!table) throw new Error('the bucket has no index');
  const queries = drawQueries(passages, QUERIES).filter((query) => analyse(query).length > 0);
  const team = Array.from({ length: Math.ceil(CHUNKS / CHUNKS_PER_DOCUMENT) }, (_, nth) => nth + 1)
    .filter((number) => number % TEAMS === 7)
    .map((number) => `doc_${number}`);
  const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
  const search = async (query: string, { mode, filter }: Row) => {
    const body = JSON.stringify({ query, mode, filter, top_k: 10 });
    const beganMs = performance.now();
    const reply = await client.post(body);
    const tookMs = performance.now() - beganMs;
    const { results } = JSON.parse(reply.toString()) as { results: unknown[] };
    if (results.length === 0) throw new Error(`the search found nothing for "${query}"`);
    return tookMs;
  };
  const callRaw = async (query: string, { mode, filter }: Row) => {
    const options = { limit: CANDIDATES, documentIds: filter === undefined ? null : team };
    const terms = weighTerms(analyse(query));
    const vector = embedLexical([query]).subarray(0, INDEX_DIMENSIONS);
    const beganMs = performance.now();
    await Promise.all([
      mode === 'vector' ? null : keywordQuery(table, terms, options).toArrow(),
      mode === 'keyword' ? null : vectorQuery(table, vector, options).toArrow(),
    ]);
    return performance.now() - beganMs;
  };
  for (const row of ROWS) {
    const times = { service: [] as number[], raw: [] as number[] };
    for (let first = 0; first < queries.length; first += BATCH) {
      for (const [name, run] of [
        ['service', search],
        ['raw', callRaw],
      ] as const) {
        for (const [nth, query] of queries.slice(first, first + BATCH).entries()) {
          const tookMs = await run(query, row);
          if (first >= WARM_UP && nth >= BATCH_WARM_UP) times[name].push(tookMs);
        }
      }
    }
    const [service, raw] = [times.service.sort(ascending), times.raw.sort(ascending)];
    console.log(
      `search   ${row.name.padEnd(24)} of ${CHUNKS} chunks: ${at(service, 0.5)} ms p50, ${at(service, 0.99)} p99; ` +
        `raw LanceDB ${at(raw, 0.5)}, ${at(raw, 0.99)}; difference at p50 ${(quantile(service, 0.5) - quantile(raw, 0.5)).toFixed(1)} ms`,
    );
  }
  client.close();
}

function ascending(a: number, b: number): number {
  return a - b;
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}

function at(sorted: readonly number[], part: number): string {
  return quantile(sorted, part).toFixed(1);
}
