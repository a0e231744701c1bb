/**
 * `npm run eval -- search`: retrieval quality and latency of the whole product, by language and mode. Every document is
 * uploaded, ingested by a worker and searched by the operation of `POST /v2/buckets/{bucket}/search`. With a filter,
 * each query searches one half of the documents, chosen by their ids, and only answers in that half count.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { ndcgAt, recallAt } from '../../src/projection/retrieval-metrics.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';

const DATA = new URL('../../../shared/data/retrieval/', import.meta.url);
const SETS = [
  { set: 'cranfield', language: 'English' },
  { set: 'korquad-a', language: 'Korean' },
];
const MODES = ['keyword', 'vector', 'hybrid'] as const;
const HALVES = ['even', 'odd'] as const;

interface Scores {
  readonly queries: number;
  readonly ndcg: number;
  readonly recall: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
}

interface QuerySet {
  readonly set: string;
  readonly mode: (typeof MODES)[number];
  readonly isFiltered: boolean;
  readonly fileIds: ReadonlyMap<string, string>;
}

export async function evaluateSearch(): Promise<void> {
  const sets = SETS.filter(({ set }) => existsSync(new URL(`${set}/docs.jsonl`, DATA)));
  if (sets.length === 0) {
    console.log('skipped: the directory ../shared/data/retrieval is missing');
    return;
  }
  const { dataDir, remove } = makeDataDir();
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  const worker = appliance.jobs.worker('ingest');
  try {
    await worker.start(new AbortController().signal);
    const operator = await appliance.access.operator('default');
    console.log('set        language documents docs/s  mode     filter queries  nDCG@10  recall@10  p50 ms  p95 ms');
    for (const { set, language } of sets) {
      const { rate, count, fileIds } = await ingestSet(appliance, operator, set);
      for (const isFiltered of [false, true]) {
        for (const mode of MODES) {
          const scores = await scoreSet(appliance, operator, { set, mode, isFiltered, fileIds });
          const cells = [
            `${set.padEnd(10)} ${language.padEnd(8)} ${String(count).padStart(9)} ${rate.toFixed(0).padStart(6)} `,
            `${mode.padEnd(8)} ${(isFiltered ? 'half' : 'none').padEnd(6)} ${String(scores.queries).padStart(7)}`,
            `${scores.ndcg.toFixed(4).padStart(8)} ${scores.recall.toFixed(4).padStart(10)}`,
            `${scores.p50Ms.toFixed(1).padStart(7)} ${scores.p95Ms.toFixed(1).padStart(7)}`,
          ];
          console.log(cells.join(' '));
        }
      }
    }
  } finally {
    await worker.stop();
    await appliance.close();
    remove();
  }
}

async function ingestSet(appliance: Appliance, operator: Caller, set: string) {
  await createBucket(appliance.sql, operator, { name: set, policy: BucketPolicy.parse({}) });
  const documents = readLines<{ id: string; title: string; text: string }>(set, 'docs.jsonl').map((doc) => ({
    id: doc.id,
    fileName: `${doc.id}.md`,
    text: `# ${doc.title}\n\n${doc.text}`,
    metadata: { half: halfOf(doc.id) },
  }));
  const { idOf, perSecond } = await ingestAll(appliance, operator, set, documents);
  // Scores are those of a settled index. The writer settles it when writes pause.
  await until(async () => (await appliance.sql`SELECT 1 FROM index_tables WHERE NOT settled`).length === 0);
  return { rate: perSecond, count: documents.length, fileIds: idOf };
}

async function scoreSet(
  appliance: Appliance,
  operator: Caller,
  { set, mode, isFiltered, fileIds }: QuerySet,
): Promise<Scores> {
  const relevant = readRelevant(set);
  const queries = readLines<{ id: string; text: string }>(set, 'queries.jsonl');
  const times: number[] = [];
  let ndcg = 0;
  let recall = 0;
  for (const [nth, query] of queries.entries()) {
    const half = isFiltered ? (HALVES[nth % 2] as string) : null;
    const wanted = new Set([...(relevant.get(query.id) ?? [])].filter((id) => half === null || halfOf(id) === half));
    if (wanted.size === 0) continue;
    const filter = half === null ? {} : { filter: { half } };
    const request = SearchRequest.parse({ query: query.text, top_k: 30, mode, ...filter });
    const beganMs = performance.now();
    const reply = await searchBucket(appliance.search, operator, set, request);
    times.push(performance.now() - beganMs);
    const ranked = [...new Set(reply.results.map((result) => fileIds.get(result.document_id) as string))].slice(0, 10);
    ndcg += ndcgAt(ranked, wanted, 10);
    recall += recallAt(ranked, wanted, 10);
  }
  times.sort((a, b) => a - b);
  return {
    queries: times.length,
    ndcg: ndcg / times.length,
    recall: recall / times.length,
    p50Ms: times[Math.floor(times.length * 0.5)] as number,
    p95Ms: times[Math.floor(times.length * 0.95)] as number,
  };
}

/** Read the ids of the documents that answer each query, by the id of the query. */
function readRelevant(set: string): Map<string, Set<string>> {
  const relevant = new Map<string, Set<string>>();
  for (const line of readFileSync(new URL(`${set}/qrels.tsv`, DATA), 'utf8').split('\n')) {
    const [query, document, gain] = line.split('\t');
    if (!query || !document || Number(gain) <= 0) continue;
    const documents = relevant.get(query) ?? new Set<string>();
    relevant.set(query, documents.add(document));
  }
  return relevant;
}

/** Assign a document to a half by the sum of its id's characters, which is the same in every run. */
function halfOf(id: string): string {
  const sum = [...id].reduce((total, character) => total + (character.codePointAt(0) as number), 0);
  return HALVES[sum % 2] as string;
}

function readLines<T>(set: string, file: string): T[] {
  return readFileSync(new URL(`${set}/${file}`, DATA), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
