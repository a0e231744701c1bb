import type { Caller } from '../access/caller.ts';
import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import type { VectorOrigin } from '../embedding/model-choice.ts';
import type { IndexTable } from '../index/index-store.ts';
import { graphemeCut } from '../language/graphemes.ts';
import { AppError } from '../platform/errors.ts';
import type { AnalysedQuery } from './analyse-query.ts';
import { type Fusion, fusionFor, WEIGHTS_OF_UNKNOWN_TERMS } from './fuse.ts';
import type { SearchRequest } from './schema.ts';

/** Result of embedding a query. */
export interface QueryVector {
  /** Null if the query needs no embedding or couldn't be embedded; in the latter case a warning gives the reason. */
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
}

export interface PreparedQuery {
  /** Legs to search. */
  readonly mode: SearchRequest['mode'];
  readonly vector: Float32Array | null;
  readonly fusion: Fusion;
  readonly warnings: readonly string[];
}

/**
 * Decide which legs to search. If the query vector is missing or in another space than the bucket's vectors, search
 * only the keyword leg and add a warning.
 *
 * @param table index of the bucket; null if there is none yet
 * @param options.showsScores false if the bucket hides documents from the caller
 */
export function prepareQuery(
  request: SearchRequest,
  { terms, isModelled }: Pick<AnalysedQuery, 'terms' | 'isModelled'>,
  { embedded, warnings }: QueryVector,
  table: Pick<IndexTable, 'origin' | 'weights'> | null,
  { showsScores }: { readonly showsScores: boolean },
): PreparedQuery {
  const origin = table?.origin ?? null;
  if (embedded === null) return { mode: 'keyword', vector: null, fusion: fusionFor('lexical'), warnings };
  const weights = embedded.kind === 'lexical' && !isModelled ? WEIGHTS_OF_UNKNOWN_TERMS : undefined;
  const fusion = fusionFor(embedded.kind, table?.weights ?? weights, { showsScores });
  if (origin !== null && origin.space !== embedded.space) {
    const warning = `the bucket's vectors (${origin.space}) cannot be compared with ${embedded.model} (${embedded.space}); searched by keyword only`;
    return { mode: 'keyword', vector: null, fusion, warnings: [...warnings, warning] };
  }
  // The lexical vector of a query of stop words or punctuation is meaningless.
  const vector = terms.length === 0 && embedded.kind === 'lexical' ? null : embedded.vectors;
  return { mode: request.mode, vector, fusion, warnings };
}

/** Error codes after which a search continues without the query vector instead of failing. */
const DEGRADING_CODES = new Set([
  'provider_unavailable',
  'upstream_rejected',
  'projection_unusable',
  'quota_exceeded',
  'axis_not_in_plan',
  'not_comparable',
]);

/** Return true for a text without a letter, digit or pictogram. */
export function isPunctuation(query: string): boolean {
  return !/[\p{L}\p{N}\p{M}\p{So}]/u.test(query);
}

/**
 * Embed a query with the model of the bucket's vectors, if its mode needs a vector.
 *
 * @throws AppError for errors that a search without the vector would also meet
 */
export async function embedQuery(
  embedder: Embedder,
  caller: Caller,
  request: SearchRequest,
  origin: VectorOrigin | null,
  signal: AbortSignal | undefined,
): Promise<QueryVector> {
  // Punctuation has no keywords, and its vector is meaningless with any model.
  if (request.mode === 'keyword' || isPunctuation(request.query)) return { embedded: null, warnings: [] };
  const account = { orgId: caller.orgId, plan: caller.plan, actor: caller.actor };
  try {
    const embed = (query: string) =>
      embedForIndex(embedder, {
        texts: [query],
        taskType: request.task,
        orgId: caller.orgId,
        comparableWith: origin,
        charge: { account, axis: 'embed', internal: true },
        signal,
      });
    return await embedStart(request.query, embed);
  } catch (error) {
    if (!(error instanceof AppError) || !DEGRADING_CODES.has(error.code) || signal?.aborted) throw error;
    return {
      embedded: null,
      warnings: [`the query could not be embedded (${error.message}); searched by keyword only`],
    };
  }
}

/** Embed a query, truncated to what the model accepts: 8,000 Korean characters can exceed 8,192 tokens. */
async function embedStart(
  query: string,
  embed: (query: string) => Promise<EmbeddedTexts>,
  warnings: string[] = [],
): Promise<QueryVector> {
  try {
    return { embedded: await embed(query), warnings };
  } catch (error) {
    const isTooLong = error instanceof AppError && error.code === 'token_limit_exceeded' && query.length > 1;
    if (!isTooLong) throw error;
    const start = query.slice(0, graphemeCut(query, Math.floor(query.length / 2)));
    const warning = `the query is too long for the model, so its vector represents only the first ${start.length} characters`;
    if (start === '' || start.length === query.length) throw error;
    return embedStart(start, embed, [warning]);
  }
}
