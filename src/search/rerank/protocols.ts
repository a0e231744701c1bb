import type { RemoteRerankSettings } from '../../platform/provider-settings.ts';
import type { Secret } from '../../platform/secret.ts';
import { faultsOf } from '../../platform/upstream/classify.ts';
import { badReply, field } from '../../platform/upstream/parse-json.ts';
import { bearer, postJson } from '../../platform/upstream/request-parts.ts';
import type { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { UpstreamHeaders, UpstreamRequest } from '../../platform/upstream/upstream-message.ts';

export interface RerankCall {
  readonly model: string | null;
  readonly apiKey: Secret | null;
  readonly query: string;
  readonly texts: readonly string[];
}

/** Wire format of a kind of reranker: its requests and its answers. */
export interface RerankProtocol {
  /** Maximum number of texts in one call. */
  readonly itemsMax: number;
  request(call: RerankCall): UpstreamRequest;
  /** @returns the list of `{index, <scoreKey>}` in an answer, without checking its shape */
  listOf(answer: unknown): unknown;
  readonly scoreKey: string;
  faultOf(status: number, headers: UpstreamHeaders, body: Uint8Array, apiKey: Secret | null): UpstreamFault;
}

/** `POST {base}/v2/rerank`. Every document is returned with a score unless `top_n` is set. */
const cohere: RerankProtocol = {
  itemsMax: 1_000,
  request: ({ apiKey, model, query, texts }) =>
    postJson('/v2/rerank', bearer(apiKey), { model, query, documents: texts }),
  listOf: (answer) => field(answer, 'results'),
  scoreKey: 'relevance_score',
  faultOf: faultsOf(),
};

/** `POST {base}/rerank`. */
const jina: RerankProtocol = {
  ...cohere,
  request: ({ apiKey, model, query, texts }) =>
    postJson('/rerank', bearer(apiKey), { model, query, documents: texts, return_documents: false }),
};

/** `POST {base}/rerank`. A text that is too long is truncated, which harms the ranking less than an error. */
const voyage: RerankProtocol = {
  ...cohere,
  request: ({ apiKey, model, query, texts }) =>
    postJson('/rerank', bearer(apiKey), { model, query, documents: texts, return_documents: false, truncation: true }),
  listOf: (answer) => field(answer, 'data'),
};

/** `POST {base}/rerank` of text-embeddings-inference, which serves one model; the answer is the bare list. */
const tei: RerankProtocol = {
  // Its default `max_client_batch_size`.
  itemsMax: 32,
  request: ({ apiKey, query, texts }) =>
    postJson('/rerank', bearer(apiKey), { query, texts, raw_scores: false, return_text: false, truncate: true }),
  listOf: (answer) => answer,
  scoreKey: 'score',
  faultOf: faultsOf(),
};

const PROTOCOLS: Readonly<Record<RemoteRerankSettings['protocol'], RerankProtocol>> = { cohere, jina, voyage, tei };

export function rerankProtocolOf(name: RemoteRerankSettings['protocol']): RerankProtocol {
  return PROTOCOLS[name];
}

/**
 * Read the scores of an answer, in the order of the texts.
 *
 * @param count number of texts that were sent
 * @returns `count` scores, each cut to 0..1
 * @throws UpstreamFault `transient` if an index or a score is missing or wrong
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
    scores[index] = Math.min(1, Math.max(0, score));
  }
  return scores;
}
