/**
 * `npm run eval -- old-indexes`: an old index of real vectors without their texts, imported over HTTP, and searched by
 * queries of another model. A vendor answers with stored vectors of both models. Every second text fits the map; the
 * others are the old index. A figure is the share of its rows that the live model's vector of the same text finds first,
 * or among the first ten. A rehearsal then compares both models on a bucket of the live one.
 */
import { existsSync } from 'node:fs';
import { apiService } from '../../server/api-service.ts';
import type { Caller } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { fitProjection, planFit } from '../../src/projection/fit-projection.ts';
import { makeDataDir } from '../support/appliance.ts';
import { FakeUpstream, type FakeUpstreamOptions } from '../support/fake-upstream.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';
import { dropDuplicates, fileOf, readAll, type Vectors } from './paired-vectors.ts';

const LIVE = 'vendor-a/live';
const OLD = 'vendor-a/old';
const API_KEY = 'sk-1';

interface Pair {
  readonly name: string;
  readonly live: readonly string[];
  readonly old: readonly string[];
}

const PAIRS: readonly Pair[] = [
  {
    name: 'mpnet searches MiniLM (film quotes and texts about language models)',
    live: ['movie-quotes/mpnet_embeddings', 'rag-llm/embeddings_mpnet'],
    old: ['movie-quotes/sbert_embeddings', 'rag-llm/embeddings_minilm'],
  },
  {
    name: 'cohere-v3 searches ada-002 (web queries)',
    live: ['dl-queries/cohere-embed-english-v3.0'],
    old: ['dl-queries/openai-ada2'],
  },
  {
    name: 'ada-002 searches cohere-v3 (web queries)',
    live: ['dl-queries/openai-ada2'],
    old: ['dl-queries/cohere-embed-english-v3.0'],
  },
];

export async function evaluateOldIndexes(): Promise<void> {
  for (const pair of PAIRS) {
    if ([...pair.live, ...pair.old].every((file) => existsSync(fileOf(file)))) await evaluatePair(pair);
    else console.log(`skipped ${pair.name}: its vectors are missing in ../shared/data/paired`);
  }
}

async function evaluatePair({ name, live, old }: Pair): Promise<void> {
  const [lives, olds] = dropDuplicates(readAll(live), readAll(old));
  const rows = [...Array(lives.values.length / lives.columns).keys()];
  const fitted = rows.filter((row) => row % 2 === 0);
  const imported = rows.filter((row) => row % 2 === 1);
  const dimensions = { live: lives.columns, old: olds.columns };
  const models = [LIVE, OLD].map((id) => ({
    id,
    vendor: 'vendor-a',
    dimensions: id === LIVE ? lives.columns : olds.columns,
    max_tokens: 8192,
  }));
  const test = await open(models, {
    dimensions,
    apiKeys: [API_KEY],
    vectors: (model, text) => rowOf(model === 'live' ? lives : olds, rowOfText(text)),
  });
  try {
    await calibrate(test, LIVE, fitted, true);
    const score = await calibrate(test, OLD, fitted, false);
    const found = await importAndSearch(test, olds, imported);
    const shares = found.map((share) => share.toFixed(3)).join(' and ');
    console.log(`${name}: ${fitted.length} texts fit the map (score ${score.toFixed(3)}), ${imported.length} rows`);
    console.log(`  found first and among the first ten: ${shares}`);
    console.log(`  rehearsal of the old model for a bucket of the live one: ${await rehearse(test, imported)}`);
  } finally {
    await test.close();
  }
}

/** Installation with its API and a worker, and one key with all rights in the organization. */
interface Installation {
  readonly appliance: Appliance;
  readonly operator: Caller;
  // biome-ignore lint/suspicious/noExplicitAny: replies of the API
  call(method: string, path: string, json: object): Promise<{ status: number; body: any }>;
  close(): Promise<void>;
}

async function open(models: readonly object[], vendor: FakeUpstreamOptions): Promise<Installation> {
  const upstream = await FakeUpstream.start(vendor);
  const { dataDir, remove } = makeDataDir();
  const provider = { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: API_KEY };
  const overrides = { data_dir: dataDir, models, projections: { auto: 'off' }, providers: { 'vendor-a': provider } };
  const appliance = await openAppliance(loadConfig({ env: {}, overrides }), { logger: openLogger('warn') });
  const api = apiService(appliance, { port: 0 });
  const services = [api, appliance.jobs.worker('ingest')];
  for (const service of services) await service.start(new AbortController().signal);
  const operator = await appliance.access.operator('default');
  const scopes = ['search', 'buckets:manage', 'documents:write', 'routing:manage', 'embed', 'users:manage'] as const;
  const { key } = await createKey(appliance.sql, appliance.keyRing, operator, {
    name: 'evaluation',
    scopes: [...scopes],
    authLevel: 10,
  });
  return {
    appliance,
    operator,
    async call(method, path, json) {
      const response = await fetch(`${api.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${key.reveal()}`, 'content-type': 'application/json' },
        body: JSON.stringify(json),
      });
      return { status: response.status, body: await response.json() };
    },
    async close() {
      for (const service of services.reverse()) await service.stop();
      await appliance.close();
      await upstream.close();
      remove();
    },
  };
}

const textOf = (row: number) => `text number ${row}`;
const rowOfText = (text: string) => Number(/text number (\d+)/.exec(text)?.[1]);

function rowOf({ values, columns }: Vectors, row: number): Float32Array {
  const vector = values.slice(row * columns, (row + 1) * columns);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Fit and activate a map. @returns its score on held-out texts */
async function calibrate(
  { appliance }: Installation,
  model: string,
  rows: readonly number[],
  reference: boolean,
): Promise<number> {
  const request = {
    model,
    reference,
    corpus: rows.map((row) => ({ text: textOf(row), kind: 'passage' as const })),
    pairsMax: 5_000,
    method: 'procrustes' as const,
    allowFewPairs: true,
    activate: true,
    actor: 'operator:eval',
  };
  const plan = await planFit(appliance.calibration, request, () => []);
  const { scores } = await fitProjection(appliance.calibration, request, plan, {
    signal: new AbortController().signal,
  });
  await appliance.projections.refresh();
  return scores.score;
}

async function importAndSearch(test: Installation, olds: Vectors, rows: readonly number[]): Promise<[number, number]> {
  const { call } = test;
  await call('PUT', '/v1/routing', { primary: LIVE });
  await call('POST', '/v1/buckets', { name: 'old' });
  // A document of the live model comes first, so that this model embeds the queries.
  await ingestAll(test.appliance, test.operator, 'old', [{ id: 'first', fileName: 'first.txt', text: textOf(0) }]);
  const given = rows.map((row) => {
    const vector = rowOf(olds, row);
    return { id: `${row}`, vector: Buffer.from(vector.buffer).toString('base64') };
  });
  const reply = await call('POST', '/v1/buckets/old/vectors', { model: OLD, rows: given });
  if (reply.status !== 202) throw new Error(JSON.stringify(reply.body));
  for (const warning of reply.body.warnings) console.log(`  warning: ${warning}`);
  await until(
    async () => {
      const [ready] = await test.appliance.sql`
        SELECT count(*)::int AS count FROM documents WHERE status = 'ready' AND file_type = 'vector'`;
      return ready?.['count'] === rows.length;
    },
    { what: 'the old index', withinMs: 120_000 },
  );
  let first = 0;
  let ten = 0;
  for (const row of rows) {
    const { body } = await call('POST', '/v2/buckets/old/search', { query: textOf(row), mode: 'vector', top_k: 10 });
    const places: string[] = body.results.map(
      (each: { citation: { source_path: string } }) => each.citation.source_path,
    );
    if (body.model !== LIVE) throw new Error(`${body.model} embedded the query`);
    if (places[0] === `${row}`) first++;
    if (places.includes(`${row}`)) ten++;
  }
  return [first / rows.length, ten / rows.length];
}

async function rehearse(test: Installation, rows: readonly number[]): Promise<string> {
  await test.call('POST', '/v1/buckets', { name: 'present' });
  const documents = rows.map((row) => ({ id: `${row}`, fileName: `${row}.txt`, text: `${textOf(row)}.` }));
  await ingestAll(test.appliance, test.operator, 'present', documents);
  const queries = rows
    .filter((_, nth) => nth % 5 === 0)
    .slice(0, 100)
    .map((row) => ({ query: textOf(row), relevant: [`${row}.txt`] }));
  const { status, body } = await test.call('POST', '/v1/buckets/present/rehearsals', {
    model: OLD,
    mode: 'vector',
    queries,
  });
  if (status !== 200) throw new Error(JSON.stringify(body));
  const { overlap, mean_move: move, ndcg, sample } = body;
  return `${sample.chunks} chunks, ${queries.length} queries, overlap ${overlap}, mean move ${move}, nDCG ${ndcg.before} and ${ndcg.after}`;
}
