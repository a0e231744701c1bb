import type { TaskType } from '../../../models/task-types.ts';
import { faultsOf } from '../../../platform/upstream/classify.ts';
import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import type { Protocol } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/** Input types of Cohere's models by task type. */
export const COHERE_INPUT_TYPES: Readonly<Record<TaskType, string>> = {
  retrieval_query: 'search_query',
  retrieval_document: 'search_document',
  semantic_similarity: 'clustering',
  question_answering: 'search_query',
  clustering: 'clustering',
  classification: 'classification',
  code_retrieval: 'search_query',
  contradiction: 'search_query',
  factcheck: 'search_query',
};

/**
 * Protocol of Cohere's `POST /v2/embed` (docs.cohere.com/v2/docs/embeddings, November 2026). `input_type` is required,
 * and a text without a task type counts as a document. Cohere has no type for texts to compare: they count as texts to
 * cluster.
 */
export const cohere: Protocol = {
  caps: { itemsMax: 96, tokensMax: null },
  request: (call) =>
    postJson('/v2/embed', bearer(call.apiKey), {
      model: call.upstreamModel,
      texts: wellFormed(call.texts),
      input_type: COHERE_INPUT_TYPES[call.taskType ?? 'retrieval_document'],
      embedding_types: ['float'],
      output_dimension: call.dimensions ?? undefined,
      truncate: 'NONE',
    }),
  parse: (reply, expected) => {
    const answer = parseJson(reply.body);
    return {
      vectors: placeInOrder(field(field(answer, 'embeddings'), 'float'), expected),
      tokens: tokensOf(field(field(field(answer, 'meta'), 'billed_units'), 'input_tokens')),
    };
  },
  faultOf: faultsOf((status, { message }) => {
    // 498 means an invalid token in their clients and a blocked input in their documentation. Only the message
    // distinguishes them.
    if (status === 498) return message !== null && /\b(token|api key)\b/i.test(message) ? 'refused' : 'rejected';
    // 499 means that the call was cancelled on the way. Their documentation recommends a retry.
    return status === 499 ? 'transient' : null;
  }),
};
