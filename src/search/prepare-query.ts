import type { Caller } from '../access/caller.ts';
import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import type { WeightedTerms } from '../language/analyser.ts';
import { AppError } from '../platform/errors.ts';
import { type LegWeights, weightsFor } from './fuse.ts';
import type { SearchRequest } from './schema.ts';

/** What became of a query's text. */
export interface QueryVector {
  /** Null: it was not to be embedded, or could not be; a warning says why. */
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
}

export interface PreparedQuery {
  /** The legs that are really searched. */
  readonly mode: SearchRequest['mode'];
  readonly vector: Float32Array | null;
  readonly weights: LegWeights;
  readonly warnings: readonly string[];
}

/**
 * Which legs to search. A query vector of another space than the bucket's leaves the keyword leg alone, and so does one
 * that is missing; a line in `warnings` says so.
 *
 * @param terms of the query, analysed
 * @param space latent space of the bucket's vectors; null while it has none
 */
export function prepareQuery(
  request: SearchRequest,
  terms: readonly WeightedTerms[],
  { embedded, warnings }: QueryVector,
  space: string | null,
): PreparedQuery {
  if (embedded === null) return { mode: 'keyword', vector: null, weights: weightsFor('lexical'), warnings };
  const weights = weightsFor(embedded.kind);
  if (space !== null && space !== embedded.space) {
    const warning = `the bucket's vectors (${space}) cannot be compared with ${embedded.model} (${embedded.space}); searched by keyword only`;
    return { mode: 'keyword', vector: null, weights, warnings: [...warnings, warning] };
  }
  // A query of stop words or punctuation has no direction worth following.
  const vector = terms.length === 0 && embedded.kind === 'lexical' ? null : embedded.vectors;
  return { mode: request.mode, vector, weights, warnings };
}

/** Reasons for which a search does without the query's vector instead of failing. */
const DEGRADES = new Set([
  'provider_unavailable',
  'upstream_rejected',
  'projection_unusable',
  'quota_exceeded',
  'axis_not_in_plan',
]);

/** The vector of a query, where its mode wants one. @throws AppError for faults that no other search would be without */
export async function embedQuery(
  embedder: Embedder,
  caller: Caller,
  request: SearchRequest,
  signal: AbortSignal | undefined,
): Promise<QueryVector> {
  if (request.mode === 'keyword') return { embedded: null, warnings: [] };
  const account = { orgId: caller.orgId, plan: caller.plan };
  try {
    const embedded = await embedForIndex(embedder, {
      texts: [request.query],
      taskType: request.task,
      orgId: caller.orgId,
      charge: { account, axis: 'embed', internal: true },
      signal,
    });
    return { embedded, warnings: [] };
  } catch (error) {
    if (!(error instanceof AppError) || !DEGRADES.has(error.code) || signal?.aborted) throw error;
    return {
      embedded: null,
      warnings: [`the query could not be embedded (${error.message}); searched by keyword only`],
    };
  }
}
