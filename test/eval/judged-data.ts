/**
 * Judged sets, each a folder with `docs.jsonl` (`id`, `title`, `text`), `queries.jsonl` (`id`, `text`) and `qrels.tsv` (ids of
 * a query and of a document that answers it, and a number above 0). Beside the checkout are Cranfield (English) and a part
 * of KorQuAD (Korean); `EVAL_SETS` names another directory of sets.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';

export const SETS_DIR =
  process.env.EVAL_SETS ?? fileURLToPath(new URL('../../../shared/data/retrieval', import.meta.url));
export const HALVES = ['even', 'odd'] as const;

/** Return the names of the sets of the directory; none if it is missing. */
export function setsAtHand(): string[] {
  if (!existsSync(SETS_DIR)) return [];
  return readdirSync(SETS_DIR)
    .filter((set) => existsSync(path.join(SETS_DIR, set, 'docs.jsonl')))
    .sort();
}

/** Ingest the documents of a set into a new bucket of its name. */
export async function ingestSet(appliance: Appliance, operator: Caller, set: string) {
  await createBucket(appliance.sql, operator, { name: set, policy: BucketPolicy.parse({}) });
  const documents = readDocuments(set).map((doc) => ({
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
  for (const line of readFileSync(path.join(SETS_DIR, set, 'qrels.tsv'), 'utf8').split('\n')) {
    const [query, document, gain] = line.split('\t');
    if (!query || !document || Number(gain) <= 0) continue;
    const documents = relevant.get(query) ?? new Set<string>();
    relevant.set(query, documents.add(document));
  }
  return relevant;
}

export function readDocuments(set: string): { id: string; title: string; text: string }[] {
  return readLines(set, 'docs.jsonl');
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
  return readFileSync(path.join(SETS_DIR, set, file), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
