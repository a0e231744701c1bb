import type { RemoteRerankSettings } from '../platform/provider-settings.ts';
import type { Secret } from '../platform/secret.ts';
import { faultsOf } from '../platform/upstream/classify.ts';
import { badReply, field } from '../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../platform/upstream/request-parts.ts';
import { header } from '../platform/upstream/retry-after.ts';
import type { UpstreamFault } from '../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders, UpstreamRequest } from '../platform/upstream/upstream-message.ts';

export interface RerankCall {
  readonly model: string | null;
  readonly apiKey: Secret | null;
  readonly query: string;
  readonly texts: readonly string[];
  /** True to refuse texts that are too long. By default they are truncated, which harms ranking less than an error. */
  readonly refusesLong: boolean;
}

/** Wire protocol of a reranker: its requests and responses. */
export interface RerankProtocol {
  /** Maximum number of texts per call. */
  readonly itemsMax: number;
  request(call: RerankCall): UpstreamRequest;
  /** @returns list of `{index, <scoreKey>}` in a response, with unchecked shape */
  listOf(answer: unknown): unknown;
  readonly scoreKey: string;
  /** Return the token count reported by the vendor, or null if it reports none. */
  tokensOf(answer: unknown, headers: UpstreamHeaders): number | null;
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null): UpstreamFault;
}

/**
 * `POST {base}/v2/rerank`. Returns every document with a score unless `top_n` is set. Always truncates documents that
 * are too long.
 */
const cohere: RerankProtocol = {
  itemsMax: 1_000,
  request: ({ apiKey, model, query, texts }) =>
    postJson('/v2/rerank', bearer(apiKey), { model, query, documents: wellFormed(texts) }),
  listOf: (answer) => field(answer, 'results'),
  scoreKey: 'relevance_score',
  tokensOf: (answer) => countOf(field(field(field(answer, 'meta'), 'tokens'), 'input_tokens')),
  faultOf: faultsOf(),
};

/** `POST {base}/rerank`. Also returns the documents unless the request switches that off. */
const jina: RerankProtocol = {
  ...cohere,
  request: ({ apiKey, model, query, texts, refusesLong }) =>
    postJson('/rerank', bearer(apiKey), {
      model,
      query,
      documents: wellFormed(texts),
      return_documents: false,
      truncation: refusesLong ? false : undefined,
    }),
  tokensOf: (answer) => countOf(field(field(answer, 'usage'), 'total_tokens')),
};

/** `POST {base}/rerank`. */
const voyage: RerankProtocol = {
  ...jina,
  request: ({ apiKey, model, query, texts, refusesLong }) =>
    postJson('/rerank', bearer(apiKey), {
      model,
      query,
      documents: wellFormed(texts),
      return_documents: false,
      truncation: !refusesLong,
    }),
  listOf: (answer) => field(answer, 'data'),
};

/** `POST {base}/rerank` of text-embeddings-inference, which serves a single model and returns just the list. */
const tei: RerankProtocol = {
  // Default of its `max_client_batch_size`.
  itemsMax: 32,
  request: ({ apiKey, query, texts, refusesLong }) =>
    postJson('/rerank', bearer(apiKey), {
      query,
      texts: wellFormed(texts),
      raw_scores: false,
      return_text: false,
      truncate: !refusesLong,
    }),
  listOf: (answer) => answer,
  scoreKey: 'score',
  tokensOf: (_, headers) => countOf(Number(header(headers, 'x-compute-tokens') ?? 0)),
  faultOf: faultsOf(),
};

const PROTOCOLS: Readonly<Record<RemoteRerankSettings['protocol'], RerankProtocol>> = { cohere, jina, voyage, tei };

export function rerankProtocolOf(name: RemoteRerankSettings['protocol']): RerankProtocol {
  return PROTOCOLS[name];
}

function countOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/**
 * Parse the scores in a response, in the order of the texts.
 *
 * @param count number of texts in the request
 * @returns `count` finite scores: 0..1 for most vendors, negative for some
 * @throws UpstreamFault `transient` if an index or score is missing or invalid
 */
export function scoresOf(protocol: RerankProtocol, answer: unknown, count: number): number[] {
  const list = protocol.listOf(answer);
  if (!Array.isArray(list)) throw badReply('bad_shape', 'there is no list of scores');
  if (list.length !== count) throw badReply('wrong_count', `${list.length} scores for ${count} texts`);
  const scores = new Array<number>(count);
  for (const item of list) {
    const index = field(item, 'index');
    const score = field(item, protocol.scoreKey);
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= count) {
      throw badReply('bad_index', 'an index is missing or out of range');
    }
    if (scores[index] !== undefined) throw badReply('bad_index', `index ${index} came twice`);
    if (typeof score !== 'number' || !Number.isFinite(score)) throw badReply('not_finite', 'a score is not a number');
    scores[index] = score;
  }
  return scores;
}
