import type { Caller } from '../access/caller.ts';
import { readDocumentChunks } from '../ingest/document-chunks.ts';
import type { ReadingContext } from '../ingest/each-chunk.ts';
import { graphemeCut } from '../language/graphemes.ts';
import { countTokens } from '../models/tokens.ts';
import { AppError } from '../platform/errors.ts';
import { FairGate } from '../platform/fair-gate.ts';
import type { Filter } from '../search/filter/filter.ts';
import type { RelevanceFields } from '../search/relevance/schema.ts';
import { linkResults } from '../search/results/link-results.ts';
import { SearchRequest, type SearchResult } from '../search/schema.ts';
import { type SearchContext, searchBucket } from '../search/search.ts';
import { askedByAssistant } from '../search/search-recorder.ts';
import { searchSeveral } from '../search/search-several.ts';
import type { AnswerPassage } from './schema.ts';

/** Number of top passages to extend by the surrounding text. Each costs one more read of a document. */
const SURROUNDED_MAX = 3;
/** Last chunk index to extend. Documents are read from their start, so later chunks are too expensive. */
const SURROUNDED_INDEX_MAX = 500;

/** Limits on concurrent searches for answers, per process and per organization. */
const CONCURRENT_SEARCHES = { runningMax: 8, runningOfOneMax: 4, waitingOfOneMax: 1_000 };

export interface GatherContext {
  readonly search: SearchContext;
  readonly reading: ReadingContext;
  /** Gate where organizations take turns for this process's searches. */
  readonly slots: FairGate;
}

export function openAnswerSlots(): FairGate {
  return new FairGate(CONCURRENT_SEARCHES);
}

export interface PassageRequest {
  readonly query: string;
  readonly buckets: readonly string[];
  readonly filter: Filter | undefined;
  readonly topK: number;
  /** Collection to search, only with a single bucket; undefined for the whole bucket. */
  readonly collection?: string | undefined;
  readonly tokensMax: number;
  /** Base URL of this service for links; null if unknown. */
  readonly origin: string | null;
}

export interface Gathered extends RelevanceFields {
  readonly passages: AnswerPassage[];
  readonly warnings: string[];
  /** Id of the search in the search log; absent if not logged. */
  readonly search_id?: string;
}

type Found = SearchResult & { readonly bucket_id: string };

/**
 * Search for passages that answer a question, as many as fit the token budget, and extend the best ones by the text
 * around them. Return only passages that the caller may read now.
 *
 * @throws AppError `bucket_not_found` (404), and the errors of a search
 */
export async function gatherPassages(
  context: GatherContext,
  caller: Caller,
  request: PassageRequest,
  signal: AbortSignal,
): Promise<Gathered> {
  const find = async () => {
    const asking = { ...context.search, log: askedByAssistant(context.search.log) };
    const response = await search(asking, caller, request, signal);
    const found = linkResults(response, context.search.links, { caller, origin: request.origin }).results as Found[];
    const readable = found.filter(({ text }) => text !== '');
    const { kept, tokens } = withinBudget(readable, request.tokensMax);
    const surrounded = await surround(context.reading, caller, kept, request.tokensMax - tokens, signal);
    const { relevance, relevance_score, warnings } = response;
    const logged = response.search_id === null ? {} : { search_id: response.search_id };
    return { passages: surrounded.map(toPassage), relevance, relevance_score, warnings, ...logged };
  };
  return context.slots.run(caller.orgId, find, () => signal);
}

async function search(context: SearchContext, caller: Caller, request: PassageRequest, signal: AbortSignal) {
  const { query, buckets, filter, topK, collection } = request;
  const rerank = context.reranker !== null;
  const search = SearchRequest.parse({ query, top_k: topK, rerank });
  const [bucket, ...others] = buckets;
  if (others.length > 0) return searchSeveral(context, caller, { ...search, filter, buckets: [...buckets] }, signal);
  const response = await searchBucket(context, caller, bucket as string, { ...search, filter, collection }, signal);
  const results = response.results.map((result) => ({ ...result, bucket_id: response.bucket_id }));
  return { ...response, results };
}

/** Keep the best results that fit the budget. Truncate the first one if it alone exceeds the budget. */
function withinBudget(found: readonly Found[], tokensMax: number) {
  const kept: Found[] = [];
  let tokens = 0;
  for (const result of found) {
    const own = countTokens(result.text);
    if (tokens + own <= tokensMax) {
      kept.push(result);
      tokens += own;
    } else if (kept.length === 0) {
      const length = graphemeCut(result.text, Math.floor((result.text.length * tokensMax) / own));
      return { kept: [{ ...result, text: result.text.slice(0, length) }], tokens: tokensMax };
    }
  }
  return { kept, tokens };
}

/** Extend the best passages by the chunks before and after each, while tokens are left. */
async function surround(
  context: ReadingContext,
  caller: Caller,
  passages: readonly Found[],
  tokensLeft: number,
  signal: AbortSignal,
): Promise<readonly Found[]> {
  if (tokensLeft <= 0) return passages;
  const isShown = new Set(passages.map(({ id }) => id));
  const neighbours = await Promise.all(
    passages.slice(0, SURROUNDED_MAX).map((passage) => neighboursOf(context, caller, passage, signal)),
  );
  let left = tokensLeft;
  return passages.map((passage, nth) => {
    const texts = (neighbours[nth] ?? []).filter(({ id }) => id === passage.id || !isShown.has(id));
    const tokens = texts.reduce((sum, chunk) => sum + (chunk.id === passage.id ? 0 : countTokens(chunk.text)), 0);
    if (texts.length < 2 || tokens > left) return passage;
    left -= tokens;
    for (const { id } of texts) isShown.add(id);
    return { ...passage, text: joinTexts(texts) };
  });
}

type Chunk = Awaited<ReturnType<typeof readDocumentChunks>>['chunks'][number];

/** Read a passage with its neighbouring chunks. Return nothing if the document changed since the search. */
async function neighboursOf(
  context: ReadingContext,
  caller: Caller,
  passage: Found,
  signal: AbortSignal,
): Promise<readonly Chunk[]> {
  if (passage.chunk_index > SURROUNDED_INDEX_MAX) return [];
  const range = { first: passage.chunk_index, before: 1, count: passage.chunk_index === 0 ? 2 : 3 };
  try {
    const { chunks } = await readDocumentChunks(context, caller, passage.document_id, range, signal);
    return chunks.some(({ id }) => id === passage.id) ? chunks : [];
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

/** Concatenate consecutive chunks of a document without their overlap. */
function joinTexts(chunks: readonly Chunk[]): string {
  let text = '';
  let end = 0;
  for (const { text: own, locator } of chunks) {
    const gap = text === '' || locator.start < end ? '' : '\n';
    text += gap + own.slice(Math.max(0, Math.min(end - locator.start, own.length)));
    end = locator.end;
  }
  return text;
}

function toPassage(result: Found, index: number): AnswerPassage {
  return {
    number: index + 1,
    chunk_id: result.id,
    document_id: result.document_id,
    bucket_id: result.bucket_id,
    chunk_index: result.chunk_index,
    text: result.text,
    relevance_score: result.relevance_score,
    citation: result.citation,
  };
}
