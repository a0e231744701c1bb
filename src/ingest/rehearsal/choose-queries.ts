import type { Caller } from '../../access/caller.ts';
import { listJudgedQueries } from '../../insight/log/edit-log.ts';
import { listAskedMost } from '../../insight/log/read-log.ts';
import type { JudgedQuery } from '../../insight/tune-weights.ts';
import { invalidRequest } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { SearchLogSettings } from '../../platform/search-settings.ts';
import { isPunctuation } from '../../search/prepare-query.ts';
import { QUERIES_MAX, type RehearsalBody } from './schema.ts';

/**
 * Return the queries of a request; by default, the bucket's judged queries, then the most frequent ones in the search
 * log. A query without judgements has no relevant documents.
 *
 * @throws AppError `scope_missing` (403): the caller may not read the log; `invalid_request` (400): it has no queries,
 *   or a given one contains no word
 */
export async function chooseQueries(
  { sql, logSettings }: { readonly sql: Sql; readonly logSettings: SearchLogSettings },
  caller: Caller,
  bucketId: string,
  given: RehearsalBody['queries'],
): Promise<JudgedQuery[]> {
  if (given !== undefined) {
    const empty = given.find(({ query }) => isPunctuation(query));
    if (empty) throw invalidRequest(`"${empty.query}" has no word to search for`, 'queries');
    return given.map(({ query, relevant = [] }) => ({ query, relevant: new Map(gainsOf(relevant)) }));
  }
  const judged = await listJudgedQueries(sql, caller, bucketId, { limit: QUERIES_MAX });
  const queries = judged
    .filter(({ query }) => !isPunctuation(query))
    .map(({ query, relevant }) => ({ query, relevant: new Map(Object.entries(relevant)) }));
  const known = new Set(queries.map(({ query }) => query.toLowerCase()));
  for (const query of await listAskedMost(sql, logSettings, caller, bucketId, QUERIES_MAX)) {
    if (!known.has(query.toLowerCase()) && !isPunctuation(query)) queries.push({ query, relevant: new Map() });
  }
  if (queries.length > 0) return queries.slice(0, QUERIES_MAX);
  throw invalidRequest('the search log has no queries of this bucket; give queries to compare', 'queries');
}

function gainsOf(relevant: readonly string[] | Readonly<Record<string, number>>): [string, number][] {
  return Array.isArray(relevant) ? relevant.map((name) => [name, 1]) : Object.entries(relevant);
}
