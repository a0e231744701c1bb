import type { Caller } from '../access/caller.ts';
import { relevanceOfAnswer } from '../search/relevance/schema.ts';
import { highlightResults } from '../search/results/highlight-results.ts';
import { BUCKETS_MAX, SearchRequest } from '../search/schema.ts';
import type { SearchContext } from '../search/search.ts';
import { type BucketResult, searchBuckets } from '../search/search-buckets.ts';
import type { MemorySearchRequest, MemorySearchResponse, MemorySearchResult } from './schema.ts';
import { type FoundFacts, findFacts, memoryCondition } from './search-store.ts';
import { findSourceNames, listSourceBuckets } from './source-store.ts';

/**
 * Find the chunks of one or several buckets that answer a query, with filters on sources, tags and time. Without a
 * bucket, search the buckets of all sources that the caller may see.
 *
 * With `latest`, find only the newest version of each document, and order equal scores by time, newest first. With
 * `as_of`, find only the version that was newest at that time.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function searchMemory(
  context: SearchContext,
  caller: Caller,
  request: MemorySearchRequest,
  signal?: AbortSignal,
): Promise<MemorySearchResponse> {
  const beganMs = performance.now();
  const { sql } = context;
  const named = [...(request.bucket === undefined ? [] : [request.bucket]), ...(request.buckets ?? [])];
  const refs = named.length > 0 ? named : await listSourceBuckets(sql, caller, BUCKETS_MAX);
  if (refs.length === 0) {
    const warning = 'no source that you may read belongs to a bucket; name a bucket with "bucket"';
    const nothing = {
      search_id: null,
      bucket_ids: [],
      model: null,
      results: [],
      ...relevanceOfAnswer([]),
      corrected: [],
    };
    return { object: 'list', ...nothing, usage: { tokens: 0 }, warnings: [warning] };
  }
  const { sources = [], tags = [], temporal } = request;
  const isFiltered = sources.length > 0 || tags.length > 0 || temporal !== undefined;
  const search = SearchRequest.parse({ query: request.query, top_k: request.top_k, correct: request.correct });
  const found = await searchBuckets(context, caller, refs, search, {
    ...(isFiltered ? { condition: (own) => memoryCondition(own, caller, request) } : {}),
    signal,
  });
  const facts = await findFacts(sql, caller, [...new Set(found.results.map((result) => result.document_id))]);
  const sourceIds = [...facts.values()].flatMap(({ source }) => (source === null ? [] : [source.id]));
  const names = await findSourceNames(sql, caller, [...new Set(sourceIds)]);
  // A document that was hidden or deleted after the search has no facts.
  const results = found.results.flatMap((result) => {
    const own = facts.get(result.document_id);
    return own === undefined ? [] : [toResult(result, own, names)];
  });
  if (request.temporal === 'latest') results.sort((a, b) => b.score - a.score || timeOf(b) - timeOf(a));
  const answer = relevanceOfAnswer(results);
  const { query, mode } = search;
  const searched = { query, mode, beganMs, bucketIds: found.bucketIds, results: results.length };
  return {
    object: 'list',
    search_id: context.log?.record(caller, { ...searched, relevance: answer.relevance }) ?? null,
    bucket_ids: [...found.bucketIds],
    model: found.model,
    results: await highlightResults(results, found.terms, request),
    ...answer,
    corrected: [...found.corrected],
    usage: { tokens: found.tokens },
    warnings: [...found.warnings],
  };
}

function toResult(result: BucketResult, facts: FoundFacts, names: ReadonlyMap<string, string>): MemorySearchResult {
  const { eventTime, source } = facts;
  return {
    ...result,
    event_time: eventTime?.toISOString() ?? null,
    source: source && { ...source, name: names.get(source.id) ?? null },
  };
}

function timeOf(result: MemorySearchResult): number {
  return result.event_time === null ? Number.NEGATIVE_INFINITY : Date.parse(result.event_time);
}
