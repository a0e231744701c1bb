import type { Caller } from '../../../src/access/caller.ts';
import type { Appliance } from '../../../src/appliance/appliance.ts';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { ndcgAt } from '../../../src/projection/retrieval-metrics.ts';
import { SearchRequest } from '../../../src/search/schema.ts';
import { searchBucket } from '../../../src/search/search.ts';
import { ingestAll } from '../ingest-all.ts';
import { untilSettled } from '../settled.ts';
import { CHINESE } from './chinese.ts';
import { GERMAN } from './german.ts';
import { JAPANESE } from './japanese.ts';
import type { JudgedSet } from './judged-set.ts';
import { SPANISH } from './spanish.ts';

export const JUDGED_SETS: readonly JudgedSet[] = [GERMAN, SPANISH, JAPANESE, CHINESE];
export const MODES = ['keyword', 'vector', 'hybrid'] as const;

/** Figures of the queries that a lexical model can answer. */
export interface SetScores {
  readonly queries: number;
  readonly ndcg: number;
  /** Queries whose first result is wrong, each with that result. */
  readonly wrongFirst: readonly { readonly query: string; readonly found: string }[];
}

/** Ingest the passages of a set as documents of a separate bucket, named by the language. A worker must be running. */
export async function ingestSet(appliance: Appliance, caller: Caller, set: JudgedSet): Promise<Map<string, string>> {
  const { id } = await createBucket(appliance.sql, caller, { name: nameOf(set), policy: BucketPolicy.parse({}) });
  const documents = set.passages.map((text, nth) => ({ id: String(nth), fileName: `${nth}.txt`, text }));
  const { idOf } = await ingestAll(appliance, caller, nameOf(set), documents);
  await untilSettled(appliance.sql, id);
  return idOf;
}

/** @param idOf passage ids by document id, as returned by `ingestSet` */
export async function scoreSet(
  appliance: Appliance,
  caller: Caller,
  set: JudgedSet,
  { mode, idOf }: { mode: (typeof MODES)[number]; idOf: ReadonlyMap<string, string> },
): Promise<SetScores> {
  let ndcg = 0;
  const queries = set.queries.filter((query) => !query.needsMeaning);
  const wrongFirst: { query: string; found: string }[] = [];
  for (const { text, answers } of queries) {
    const request = SearchRequest.parse({ query: text, mode, top_k: 10 });
    const { results } = await searchBucket(appliance.search, caller, nameOf(set), request);
    const ranked = results.map((result) => idOf.get(result.document_id) as string);
    const wanted = new Set(answers.map(String));
    ndcg += ndcgAt(ranked, wanted, 10);
    const [first] = ranked;
    if (first === undefined || !wanted.has(first)) {
      wrongFirst.push({ query: text, found: set.passages[Number(first)] ?? 'nothing' });
    }
  }
  return { queries: queries.length, ndcg: ndcg / queries.length, wrongFirst };
}

function nameOf({ language }: JudgedSet): string {
  return language.toLowerCase();
}
