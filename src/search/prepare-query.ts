import type { Caller } from '../access/caller.ts';
import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import { AppError } from '../platform/errors.ts';
import { analyse, type WeightedTerms, weighTerms } from './analyser.ts';
import { type LegWeights, weightsFor } from './fuse.ts';
import type { SearchRequest } from './schema.ts';

export interface PreparedQuery {
  /** The legs that are really searched. */
  readonly mode: SearchRequest['mode'];
  readonly terms: readonly WeightedTerms[];
  readonly vector: Float32Array | null;
  readonly embedded: EmbeddedTexts | null;
  readonly weights: LegWeights;
}

/**
 * Analyse and embed. A query vector of another space than the bucket's leaves the keyword leg alone, and so does an
 * embedding that fails; a line in `warnings` says so.
 *
 * @param space latent space of the bucket's vectors; null while it has none
 */
export async function prepareQuery(
  embedder: Embedder,
  caller: Caller,
  request: SearchRequest,
  space: string | null,
  warnings: string[],
  signal: AbortSignal | undefined,
): Promise<PreparedQuery> {
  const terms = weighTerms(analyse(request.query));
  if (request.mode === 'keyword') {
    return { mode: 'keyword', terms, vector: null, embedded: null, weights: weightsFor('lexical') };
  }
  const embedded = await embedQuery(embedder, caller, request, warnings, signal);
  if (embedded === null) return { mode: 'keyword', terms, vector: null, embedded, weights: weightsFor('lexical') };
  const weights = weightsFor(embedded.kind);
  if (space !== null && space !== embedded.space) {
    warnings.push(
      `the bucket's vectors (${space}) cannot be compared with ${embedded.model} (${embedded.space}); searched by keyword only`,
    );
    return { mode: 'keyword', terms, vector: null, embedded, weights };
  }
  // A query of stop words or punctuation has no direction worth following.
  const vector = terms.length === 0 && embedded.kind === 'lexical' ? null : embedded.vectors;
  return { mode: request.mode, terms, vector, embedded, weights };
}

/** Reasons for which a search does without the query's vector instead of failing. */
const DEGRADES = new Set([
  'provider_unavailable',
  'upstream_rejected',
  'projection_unusable',
  'quota_exceeded',
  'axis_not_in_plan',
]);

/** Null, with a warning: there is no vector for this query now. */
async function embedQuery(
  embedder: Embedder,
  caller: Caller,
  request: SearchRequest,
  warnings: string[],
  signal: AbortSignal | undefined,
): Promise<EmbeddedTexts | null> {
  const account = { orgId: caller.orgId, plan: caller.plan };
  try {
    return await embedForIndex(embedder, {
      texts: [request.query],
      taskType: request.task,
      orgId: caller.orgId,
      charge: { account, axis: 'embed', internal: true },
      signal,
    });
  } catch (error) {
    if (!(error instanceof AppError) || !DEGRADES.has(error.code) || signal?.aborted) throw error;
    warnings.push(`the query could not be embedded (${error.message}); searched by keyword only`);
    return null;
  }
}
