/** Judged sets beside the checkout: Cranfield (English) and a part of KorQuAD (Korean), with their queries and answers. */
import { existsSync, readFileSync } from 'node:fs';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';

const DATA = new URL('../../../shared/data/retrieval/', import.meta.url);
const SETS = [
  { set: 'cranfield', language: 'English' },
  { set: 'korquad-a', language: 'Korean' },
];
export const HALVES = ['even', 'odd'] as const;

/** Return the sets whose files are there. */
export function setsAtHand(): { set: string; language: string }[] {
  return SETS.filter(({ set }) => existsSync(new URL(`${set}/docs.jsonl`, DATA)));
}

/** Ingest the documents of a set into a new bucket of its name. */
export async function ingestSet(appliance: Appliance, operator: Caller, set: string) {
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

/** Read the ids of the documents that answer each query, by the id of the query. */
export function readRelevant(set: string): Map<string, Set<string>> {
  const relevant = new Map<string, Set<string>>();
  for (const line of readFileSync(new URL(`${set}/qrels.tsv`, DATA), 'utf8').split('\n')) {
    const [query, document, gain] = line.split('\t');
    if (!query || !document || Number(gain) <= 0) continue;
    const documents = relevant.get(query) ?? new Set<string>();
    relevant.set(query, documents.add(document));
  }
  return relevant;
}

export function readQueries(set: string): { id: string; text: string }[] {
  return readLines(set, 'queries.jsonl');
}

/** Assign a document to a half by the sum of its id's characters, which is the same in every run. */
export function halfOf(id: string): string {
  const sum = [...id].reduce((total, character) => total + (character.codePointAt(0) as number), 0);
  return HALVES[sum % 2] as string;
}

function readLines<T>(set: string, file: string): T[] {
  return readFileSync(new URL(`${set}/${file}`, DATA), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
