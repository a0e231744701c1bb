/**
 * `npm run eval -- search`: retrieval quality through the product itself. Every document is uploaded, ingested by
 * a worker and searched for by the operation behind `POST /v2/buckets/{bucket}/search`.
 */
import { existsSync, readFileSync } from 'node:fs';
import type { Caller } from '../../src/access/caller.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { type Appliance, openAppliance } from '../../src/platform/compose.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { ndcgAt, recallAt } from '../../src/projection/retrieval-metrics.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { makeDataDir } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';

const DATA = new URL('../../../shared/data/retrieval/', import.meta.url);
const SETS = ['cranfield', 'korquad-a'];
const MODES = ['keyword', 'vector', 'hybrid'] as const;

interface Scores {
  ndcg: number;
  recall: number;
  p50Ms: number;
}

export async function evaluateSearch(): Promise<void> {
  const sets = SETS.filter((set) => existsSync(new URL(`${set}/docs.jsonl`, DATA)));
  if (sets.length === 0) {
    console.log('skipped: ../shared/data/retrieval is not there');
    return;
  }
  const { dataDir, remove } = makeDataDir();
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir } });
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  const worker = appliance.ingestWorker();
  try {
    await worker.start(new AbortController().signal);
    const operator = await appliance.operator('default');
    console.log('set        documents  ingest docs/s  mode     nDCG@10  recall@10  p50 ms');
    for (const set of sets) {
      const { rate, count, fileIds } = await ingestSet(appliance, operator, set);
      for (const mode of MODES) {
        const scores = await scoreSet(appliance, operator, set, mode, fileIds);
        console.log(
          [
            set.padEnd(10),
            String(count).padStart(9),
            rate.toFixed(0).padStart(14),
            ` ${mode.padEnd(8)}`,
            scores.ndcg.toFixed(4).padStart(7),
            scores.recall.toFixed(4).padStart(10),
            scores.p50Ms.toFixed(1).padStart(7),
          ].join(' '),
        );
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
  }));
  const { idOf, perSecond } = await ingestAll(appliance, operator, set, documents);
  // Scores are those of an index at rest: the writer settles it when writing pauses.
  await until(async () => (await appliance.sql`SELECT 1 FROM index_tables WHERE NOT settled`).length === 0);
  return { rate: perSecond, count: documents.length, fileIds: idOf };
}

async function scoreSet(
  appliance: Appliance,
  operator: Caller,
  set: string,
  mode: (typeof MODES)[number],
  fileIds: ReadonlyMap<string, string>,
): Promise<Scores> {
  const relevant = new Map<string, Set<string>>();
  for (const line of readFileSync(new URL(`${set}/qrels.tsv`, DATA), 'utf8').split('\n')) {
    const [query, document, gain] = line.split('\t');
    if (!query || !document || Number(gain) <= 0) continue;
    const documents = relevant.get(query) ?? new Set<string>();
    relevant.set(query, documents.add(document));
  }
  const queries = readLines<{ id: string; text: string }>(set, 'queries.jsonl').filter((q) => relevant.has(q.id));
  const times: number[] = [];
  let ndcg = 0;
  let recall = 0;
  for (const query of queries) {
    const beganMs = performance.now();
    const reply = await searchBucket(
      appliance.search,
      operator,
      set,
      SearchRequest.parse({ query: query.text, top_k: 30, mode }),
    );
    times.push(performance.now() - beganMs);
    const ranked = [...new Set(reply.results.map((result) => fileIds.get(result.document_id) as string))].slice(0, 10);
    const wanted = relevant.get(query.id) as Set<string>;
    ndcg += ndcgAt(ranked, wanted, 10);
    recall += recallAt(ranked, wanted, 10);
  }
  times.sort((a, b) => a - b);
  return {
    ndcg: ndcg / queries.length,
    recall: recall / queries.length,
    p50Ms: times[Math.floor(times.length / 2)] as number,
  };
}

function readLines<T>(set: string, file: string): T[] {
  return readFileSync(new URL(`${set}/${file}`, DATA), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
