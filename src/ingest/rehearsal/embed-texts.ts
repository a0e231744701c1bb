import { type Embedder, type EmbedRequest, embedForIndex } from '../../embedding/embedder.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { RequestWindow } from '../reindex/request-window.ts';

const TEXTS_PER_REQUEST = 64;

/** Vectors of texts, with their cost. */
export interface EmbeddedSample {
  /** Unit vectors in the order of the texts: Float32Array [INDEX_DIMENSIONS] each. */
  readonly vectors: readonly Float32Array[];
  readonly kind: 'lexical' | 'semantic';
  readonly tokens: number;
  readonly cost: number;
}

interface Request extends Pick<EmbedRequest, 'orgId' | 'charge' | 'taskType' | 'isBulk'> {
  readonly texts: readonly string[];
  /** Embedding model; undefined for the one that embeds queries of the index. */
  readonly model?: string;
  /** Origin of the vectors to compare these with. */
  readonly origin: VectorOrigin;
}

/**
 * Embed texts like an index does, in concurrent requests. If one fails, wait until the others have ended.
 *
 * @param options.onProgress called with the number of embedded texts
 * @throws AppError those of the embedder; the reason of the signal
 */
export async function embedTexts(
  embedder: Embedder,
  { texts, model, origin, ...request }: Request,
  { signal, onProgress = () => {} }: { readonly signal: AbortSignal; readonly onProgress?: (done: number) => void },
): Promise<EmbeddedSample> {
  const window = new RequestWindow();
  const failure = new AbortController();
  const either = AbortSignal.any([signal, failure.signal]);
  const vectors: Float32Array[] = [];
  const sum = { tokens: 0, cost: 0, done: 0, kind: 'semantic' as 'lexical' | 'semantic' };
  const embedFrom = async (start: number): Promise<void> => {
    const part = texts.slice(start, start + TEXTS_PER_REQUEST);
    const answer = await window.run(async () => {
      either.throwIfAborted();
      return embedForIndex(embedder, {
        ...request,
        ...(model === undefined ? {} : { model, exactly: true }),
        texts: part,
        comparableWith: origin,
        isForJob: true,
        signal: either,
      });
    });
    for (const nth of part.keys()) {
      vectors[start + nth] = answer.vectors.subarray(nth * INDEX_DIMENSIONS, (nth + 1) * INDEX_DIMENSIONS);
    }
    sum.tokens += answer.tokens;
    sum.cost += answer.cost;
    sum.kind = answer.kind;
    sum.done += part.length;
    onProgress(sum.done);
  };
  const starts = Array.from({ length: Math.ceil(texts.length / TEXTS_PER_REQUEST) }, (_, n) => n * TEXTS_PER_REQUEST);
  await Promise.all(starts.map((start) => embedFrom(start).catch((error: unknown) => failure.abort(error))));
  either.throwIfAborted();
  return { vectors, kind: sum.kind, tokens: sum.tokens, cost: sum.cost };
}
