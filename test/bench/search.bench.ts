/**
 * Benchmark of `POST /v2/buckets/{bucket}/search` in a bucket of 50,000 chunks, over HTTP with a server in a separate
 * process, one search at a time. Alternating with them, on the same table, it runs the raw LanceDB calls of such a
 * search. Then several searches are in flight, and the memory of the server is read. Arguments set the number of chunks
 * and the memory for copies of indexes (`search.lance.copies_mb`); by default it is that of all chunks. A million chunks
 * take about 10 GB of disk, by calculation: `npm run bench -- search 1000000`.
 */
import { embedLexical } from '../../src/embedding/providers/local.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { keywordQuery, vectorQuery } from '../../src/index/lance/legs.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { drawQueries } from '../support/real-passages.ts';
import { LeanClient } from './lean-client.ts';
import { readMetric, type SearchBucket, untilResident, withSearchBucket } from './search/open-bucket.ts';

const CHUNKS = Number(process.argv[2] ?? 50_000);
/** A row takes about 3.6 kB. */
const RESIDENT_MB = Number(process.argv[3] ?? Math.max(512, Math.ceil(CHUNKS / 200)));
const CHUNKS_PER_DOCUMENT = 5;
const TEAMS = 200;
const QUERIES = 600;
/** Warm-up queries, since a new server runs uncompiled code. */
const WARM_UP = 120;
/** Queries per batch. Batches of the service and of raw calls alternate. */
const BATCH = 30;
/** Uncounted first queries of a batch, for which the CPU's caches hold the other process's data. */
const BATCH_WARM_UP = 5;
/** Initial limit of each leg of a search for ten results. */
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
];
/** Filters, and the share of documents that each leaves. */
const FILTERS: readonly Row[] = [
  { name: 'no filter', mode: 'hybrid', filter: undefined },
  { name: '1 in 2', mode: 'hybrid', filter: { team: teams((number) => number % 2 === 0) } },
  { name: '1 in 4', mode: 'hybrid', filter: { team: teams((number) => number % 4 === 0) } },
  { name: '1 in 20', mode: 'hybrid', filter: { team: teams((number) => number % 20 === 0) } },
  { name: `1 in ${TEAMS}`, mode: 'hybrid', filter: { team: 'team-7' } },
  { name: '1 document', mode: 'hybrid', filter: { file_name: 'file-77.md' } },
];
const IN_FLIGHT = [1, 8, 32];
const CONCURRENT_SEARCHES = 960;

function teams(isIn: (number: number) => boolean): string[] {
  return Array.from({ length: TEAMS }, (_, number) => number)
    .filter(isIn)
    .map((number) => `team-${number}`);
}

await withSearchBucket(
  { chunks: CHUNKS, chunksPerDocument: CHUNKS_PER_DOCUMENT, teams: TEAMS, residentMb: RESIDENT_MB },
  measure,
);

async function measure(bucket: SearchBucket): Promise<void> {
  const { appliance, bucketId, base, url, key, passages } = bucket;
  const own = await getIndexTable(appliance.sql, bucketId);
  const table = own && (await appliance.search.lance.tables.openForReading(own.name, own.version));
  if (!table) throw new Error('the bucket has no index');
  const sample = Array.from({ length: QUERIES }, (_, nth) => passages.at(Math.floor(((nth + 0.5) * CHUNKS) / QUERIES)));
  const queries = drawQueries(sample, QUERIES).filter((query) => analyse(query).length > 0);
  const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
  const search = (query: string, row: Row) => timedSearch(client, query, row);
  const callRaw = async (query: string, { mode }: Row) => {
    const options = { limit: CANDIDATES, documentIds: null };
    const terms = weighTerms(analyse(query));
    const vector = embedLexical([query]).subarray(0, INDEX_DIMENSIONS);
    const beganMs = performance.now();
    await Promise.all([
      mode === 'vector' ? null : keywordQuery(table, terms, options).toArrow(),
      mode === 'keyword' ? null : vectorQuery(table, vector, options).toArrow(),
    ]);
    return performance.now() - beganMs;
  };
  await search(queries[0] as string, ROWS[0] as Row);
  if (RESIDENT_MB > 0) await untilResident(bucket);
  for (const row of ROWS) {
    const times = await alternate(queries, [(query) => search(query, row), (query) => callRaw(query, row)]);
    const [service = [], raw = []] = times;
    console.log(
      `search   ${row.name.padEnd(10)} of ${CHUNKS} chunks: ${at(service, 0.5)} ms p50, ${at(service, 0.99)} p99; ` +
        `raw LanceDB ${at(raw, 0.5)}, ${at(raw, 0.99)}; difference at p50 ${(quantile(service, 0.5) - quantile(raw, 0.5)).toFixed(1)} ms`,
    );
  }
  const filtered = await alternate(
    queries,
    FILTERS.map((row) => (query: string) => search(query, row)),
  );
  for (const [nth, { name }] of FILTERS.entries()) {
    const [none = [], times = []] = [filtered[0], filtered[nth]];
    console.log(
      `search   filter ${name.padEnd(10)}: ${at(times, 0.5)} ms p50, ${at(times, 0.99)} p99; ` +
        `${(quantile(times, 0.5) / quantile(none, 0.5)).toFixed(2)} of no filter at p50 (goal <= 1.5)`,
    );
  }
  client.close();
  for (const inFlight of IN_FLIGHT) await measureConcurrent(url, key, queries, inFlight);
  console.log(
    `search   memory of the server: ${((await readMetric(base, 'service_process_resident_memory_bytes')) / 2 ** 20).toFixed(0)} MB`,
  );
}

/** Run each kind of call in alternating batches. @returns sorted milliseconds of each */
async function alternate(queries: readonly string[], calls: readonly ((query: string) => Promise<number>)[]) {
  const times = calls.map(() => [] as number[]);
  for (let first = 0; first < queries.length; first += BATCH) {
    for (const [kind, call] of calls.entries()) {
      for (const [nth, query] of queries.slice(first, first + BATCH).entries()) {
        const tookMs = await call(query);
        if (first >= WARM_UP && nth >= BATCH_WARM_UP) times[kind]?.push(tookMs);
      }
    }
  }
  return times.map((own) => own.sort(ascending));
}

/** @returns milliseconds @throws Error if nothing is found without a filter */
async function timedSearch(client: LeanClient, query: string, { mode, filter }: Row): Promise<number> {
  const body = JSON.stringify({ query, mode, filter, top_k: 10 });
  const beganMs = performance.now();
  const reply = await client.post(body);
  const tookMs = performance.now() - beganMs;
  const { results } = JSON.parse(reply.toString()) as { results: unknown[] };
  if (results.length === 0 && filter === undefined) throw new Error(`the search found nothing for "${query}"`);
  return tookMs;
}

async function measureConcurrent(url: string, key: string, queries: readonly string[], inFlight: number) {
  const times: number[] = [];
  let next = 0;
  const beganMs = performance.now();
  const run = async () => {
    const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
    while (next < CONCURRENT_SEARCHES) {
      const query = queries[next++ % queries.length] as string;
      times.push(await timedSearch(client, query, ROWS[0] as Row));
    }
    client.close();
  };
  await Promise.all(Array.from({ length: inFlight }, run));
  const perSecond = times.length / ((performance.now() - beganMs) / 1000);
  times.sort(ascending);
  console.log(
    `search   ${String(inFlight).padStart(2)} in flight, hybrid: ${perSecond.toFixed(0)} a second, ${at(times, 0.5)} ms p50, ${at(times, 0.99)} p99`,
  );
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
