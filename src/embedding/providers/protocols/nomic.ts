import type { TaskType } from '../../../models/task-types.ts';
import { faultsOf } from '../../../platform/upstream/classify.ts';
import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import type { Protocol } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/** Task types of Nomic Embed. Texts to compare with each other are documents, according to its guide. */
const TASK_TYPES: Readonly<Record<TaskType, string>> = {
  retrieval_query: 'search_query',
  retrieval_document: 'search_document',
  semantic_similarity: 'search_document',
  question_answering: 'search_query',
  clustering: 'clustering',
  classification: 'classification',
  code_retrieval: 'search_query',
  contradiction: 'search_query',
  factcheck: 'search_query',
};

/**
 * Protocol of Nomic Atlas, `POST /v1/embedding/text` (docs.nomic.ai/atlas/guides/embeddings and Nomic's Python client,
 * November 2026). A text without a task type counts as a document. The API can't refuse a text that is too long. Mode
 * `mean` averages its parts, while `truncate` would drop the end. Nomic's client sends at most 50 texts.
 */
export const nomic: Protocol = {
  caps: { itemsMax: 50, tokensMax: null },
  request: (call) =>
    postJson('/v1/embedding/text', bearer(call.apiKey), {
      texts: wellFormed(call.texts),
      model: call.upstreamModel,
      task_type: TASK_TYPES[call.taskType ?? 'retrieval_document'],
      dimensionality: call.dimensions ?? undefined,
      long_text_mode: 'mean',
    }),
  parse: (reply, expected) => {
    const answer = parseJson(reply.body);
    const usage = field(answer, 'usage');
    return {
      vectors: placeInOrder(field(answer, 'embeddings'), expected),
      tokens: tokensOf(field(usage, 'prompt_tokens')) ?? tokensOf(field(usage, 'total_tokens')),
    };
  },
  faultOf: faultsOf(),
};
