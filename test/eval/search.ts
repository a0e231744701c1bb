/**
 * `npm run eval -- search`: retrieval quality and latency of the whole product, by set and mode. Every document is
 * uploaded, ingested by a worker and searched by the operation of `POST /v2/buckets/{bucket}/search`. With a filter,
 * each query searches one half of the documents, chosen by their ids, and only answers in that half count.
 * bm25s is measured beside it if Python has it (`bm25s.ts`). `EVAL_SETS` names another directory of judged sets
 * (`judged-data.ts` describes their files). `EVAL_RANKINGS` names a file to which each query's passages are appended in
 * their order, so that the rankings of two versions can be compared. `EVAL_MILVUS` is the URL of a Milvus: each set then
 * moves there and is measured again.
 */
import { appendFileSync } from 'node:fs';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { ndcgAt, recallAt } from '../../src/projection/retrieval-metrics.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { makeDataDir } from '../support/appliance.ts';
import { moveBucket } from '../support/move-bucket.ts';
import { type Baseline, measureBm25s } from './bm25s.ts';
import { HALVES, halfOf, ingestSet, readQueries, readRelevant, SETS_DIR, setsAtHand } from './judged-data.ts';

const MODES = ['keyword', 'vector', 'hybrid'] as const;

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
  const sets = setsAtHand();
  if (sets.length === 0) {
    console.log(`skipped: there are no judged sets in ${SETS_DIR}; EVAL_SETS names another directory`);
    return;
  }
  const { dataDir, remove } = makeDataDir();
  const milvus = process.env['EVAL_MILVUS'];
  const index = milvus ? { index: { milvus: { url: milvus } } } : {};
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, ...index } });
  const appliance = await openAppliance(config, { logger: openLogger('warn') });
  const worker = appliance.jobs.worker('ingest');
  try {
    await worker.start(new AbortController().signal);
    const operator = await appliance.access.operator('default');
    console.log('set        documents docs/s  mode     filter queries  nDCG@10  recall@10  p50 ms  p95 ms');
    for (const set of sets) {
      const { rate, count, fileIds } = await ingestSet(appliance, operator, set);
      const baseline = await measureBm25s(set);
      const onLance: number[] = [];
      for (const isFiltered of [false, true]) {
        const ndcg: Record<string, number> = {};
        for (const mode of MODES) {
          const scores = await scoreSet(appliance, operator, { set, mode, isFiltered, fileIds });
          const cells = [
            `${set.padEnd(10)} ${String(count).padStart(9)} ${rate.toFixed(0).padStart(6)} `,
            `${mode.padEnd(8)} ${(isFiltered ? 'half' : 'none').padEnd(6)} ${String(scores.queries).padStart(7)}`,
            `${scores.ndcg.toFixed(4).padStart(8)} ${scores.recall.toFixed(4).padStart(10)}`,
            `${scores.p50Ms.toFixed(1).padStart(7)} ${scores.p95Ms.toFixed(1).padStart(7)}`,
          ];
          console.log(cells.join(' '));
          ndcg[mode] = scores.ndcg;
          onLance.push(scores.ndcg);
        }
        const { keyword = 0, vector = 0, hybrid = 0 } = ndcg;
        console.log(
          `${set.padEnd(10)} hybrid less the better of the others: ${(hybrid - Math.max(keyword, vector)).toFixed(4)}`,
        );
        if (!isFiltered) console.log(`${set.padEnd(10)} ${describeBaseline(baseline, keyword, hybrid)}`);
      }
      if (milvus) await scoreOnMilvus(appliance, operator, { set, fileIds }, onLance);
    }
  } finally {
    await worker.stop();
    await appliance.close();
    remove();
  }
}

/** @param onLance nDCG on LanceDB, by mode, without the filter and then with it */
async function scoreOnMilvus(
  appliance: Appliance,
  operator: Caller,
  { set, fileIds }: Pick<QuerySet, 'set' | 'fileIds'>,
  onLance: readonly number[],
): Promise<void> {
  await moveBucket(appliance, operator, set, 'milvus');
  const rest = [...onLance];
  for (const isFiltered of [false, true]) {
    for (const mode of MODES) {
      const { ndcg, p50Ms, p95Ms } = await scoreSet(appliance, operator, { set, mode, isFiltered, fileIds });
      const apart = ndcg - (rest.shift() as number);
      console.log(
        `${set.padEnd(10)} on Milvus ${mode.padEnd(8)} ${isFiltered ? 'half' : 'none'} nDCG@10 ${ndcg.toFixed(4)} (${apart < 0 ? '' : '+'}${apart.toFixed(4)}), p50 ${p50Ms.toFixed(1)} ms, p95 ${p95Ms.toFixed(1)} ms`,
      );
    }
  }
}

function describeBaseline(baseline: Baseline | string, keyword: number, hybrid: number): string {
  if (typeof baseline === 'string') return `without a baseline: ${baseline}`;
  const { analysis, ndcg } = baseline;
  const [ofKeyword, ofHybrid] = [keyword, hybrid].map((own) => `${own < ndcg ? '' : '+'}${(own - ndcg).toFixed(4)}`);
  return `bm25s (${analysis}) ${ndcg.toFixed(4)}: keyword ${ofKeyword}, hybrid ${ofHybrid}`;
}

async function scoreSet(
  appliance: Appliance,
  operator: Caller,
  { set, mode, isFiltered, fileIds }: QuerySet,
): Promise<Scores> {
  const relevant = readRelevant(set);
  const queries = readQueries(set);
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
    recordRanking(
      [set, mode, half ?? 'all', query.id],
      reply.results.map((result) => [fileIds.get(result.document_id), result.score]),
    );
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

function recordRanking(name: readonly string[], passages: readonly unknown[]): void {
  const file = process.env.EVAL_RANKINGS;
  if (file) appendFileSync(file, `${name.join(' ')} ${JSON.stringify(passages)}\n`);
}
