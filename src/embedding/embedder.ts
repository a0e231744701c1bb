import { ALIAS_ID, findModel, LEXICAL_ID, type Model } from '../models/catalog.ts';
import type { TaskType } from '../models/task-types.ts';
import { countTokens, tokenUpperBound } from '../models/tokens.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Threads } from '../platform/threads.ts';
import { INDEX_DIMENSIONS, resizeVectors } from '../projection/resize.ts';
import { embedLexical, embedLexicalPassages, LEXICAL_DIMENSIONS } from './providers/local.ts';

/** Above this much text, hashing takes longer than the event loop may be held. */
const INLINE_CHARS_MAX = 32_768;

export interface EmbedRequest {
  readonly texts: readonly string[];
  /** Catalog id; the organization's routing decides when it is absent. */
  readonly model?: string | undefined;
  /** Output dimension, 1..4096; the model's default when absent. Ignored by fixed-dimension models. */
  readonly dimensions?: number | null | undefined;
  readonly taskType?: TaskType | null | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddedTexts {
  /** Float32Array [n x dimensions], row-major, each row L2-normalised, in the order of the texts. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
  /** The model that was really used. */
  readonly model: string;
  readonly kind: 'lexical' | 'semantic';
  /** Latent space of the vectors: only vectors of one space can be compared. */
  readonly space: string;
  readonly tokens: number;
  /** Informative dimensions where the rest is zero padding, else `dimensions`. */
  readonly effectiveDimensions: number;
  readonly warnings: readonly string[];
}

/** Texts in, unit vectors out: picks the model, keeps its limits, calls its provider, resizes. */
export interface Embedder {
  /**
   * @throws AppError `unknown_model`, `token_limit_exceeded` (400); `provider_unavailable` (502)
   */
  embed(request: EmbedRequest): Promise<EmbeddedTexts>;
  isAvailable(model: Model): boolean;
}

export function openEmbedder(context: { threads: Threads; metrics: Metrics }): Embedder {
  const isAvailable = (model: Model) => model.vendor === 'local' || model.id === ALIAS_ID;
  return {
    isAvailable,
    async embed(request) {
      const asked = findModel(request.model ?? ALIAS_ID);
      if (!isAvailable(asked)) throw notConfigured(asked);
      // The alias falls to the built-in model as long as no vendor is configured.
      const model = asked.id === ALIAS_ID ? findModel(LEXICAL_ID) : asked;
      const counts = checkTokenLimit(request.texts, model);
      const native = await embedLocally(context.threads, request);
      const dimensions = request.dimensions ?? model.defaultDimension;
      context.metrics.textsEmbedded.inc({ model: model.id }, request.texts.length);
      return {
        vectors: resizeVectors(native, LEXICAL_DIMENSIONS, dimensions),
        dimensions,
        model: model.id,
        kind: 'lexical',
        space: 'lexical-1',
        tokens: counts,
        effectiveDimensions: Math.min(dimensions, LEXICAL_DIMENSIONS),
        warnings: [],
      };
    },
  };
}

/** Vectors as the index stores them: always `INDEX_DIMENSIONS` wide, whatever the model's own flag. */
export function embedForIndex(embedder: Embedder, request: Omit<EmbedRequest, 'dimensions'>): Promise<EmbeddedTexts> {
  return embedder.embed({ ...request, dimensions: INDEX_DIMENSIONS });
}

function notConfigured(model: Model): AppError {
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    param: 'model',
    message: `no provider is configured for ${model.id}; ask the operator, or use ${ALIAS_ID}`,
  });
}

/** @returns tokens of all texts together */
function checkTokenLimit(texts: readonly string[], model: Model): number {
  let total = 0;
  for (const [index, text] of texts.entries()) {
    const tokens = countTokens(text);
    if (tokens > model.maxTokens && tokenUpperBound(text) > model.maxTokens) {
      throw invalidRequest(
        `input[${index}] has about ${tokens} tokens; ${model.id} takes at most ${model.maxTokens}`,
        `input[${index}]`,
        'token_limit_exceeded',
      );
    }
    total += tokens;
  }
  return total;
}

async function embedLocally(threads: Threads, request: EmbedRequest): Promise<Float32Array> {
  const { texts, signal } = request;
  const passages = request.taskType === 'retrieval_document';
  let chars = 0;
  for (const text of texts) chars += text.length;
  if (chars <= INLINE_CHARS_MAX) return passages ? embedLexicalPassages(texts) : embedLexical(texts);
  const provider = new URL('./providers/local.ts', import.meta.url);
  const name = passages ? 'embedLexicalPassages' : 'embedLexical';
  return threads.run(provider, name, texts, signal ? { signal } : {});
}
