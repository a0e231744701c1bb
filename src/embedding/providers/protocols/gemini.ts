import type { TaskType } from '../../../models/task-types.ts';
import { faultsOf } from '../../../platform/upstream/classify.ts';
import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import type { Protocol } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/** Task types of Google's models by ours. */
export const GEMINI_TASK_TYPES: Readonly<Record<TaskType, string>> = {
  retrieval_query: 'RETRIEVAL_QUERY',
  retrieval_document: 'RETRIEVAL_DOCUMENT',
  semantic_similarity: 'SEMANTIC_SIMILARITY',
  question_answering: 'QUESTION_ANSWERING',
  clustering: 'CLUSTERING',
  classification: 'CLASSIFICATION',
  code_retrieval: 'CODE_RETRIEVAL_QUERY',
  contradiction: 'FACT_VERIFICATION',
  factcheck: 'FACT_VERIFICATION',
};

/**
 * Protocol of the Gemini API's `models/{model}:batchEmbedContents` (ai.google.dev/gemini-api/docs/embeddings, November
 * 2026). Each text is a separate content, since several parts of one content become a single vector. Vectors below the
 * full dimension are not normalised. The API answers a bad key with 400 `API_KEY_INVALID`.
 */
export const gemini: Protocol = {
  caps: { itemsMax: 100, tokensMax: null },
  request: (call) => {
    const name = call.upstreamModel.replace(/^models\//, '');
    const headers: Record<string, string> = call.apiKey === null ? {} : { 'x-goog-api-key': call.apiKey.reveal() };
    return postJson(`/models/${encodeURIComponent(name)}:batchEmbedContents`, headers, {
      requests: wellFormed(call.texts).map((text) => ({
        model: `models/${name}`,
        content: { parts: [{ text }] },
        taskType: call.taskType === null ? undefined : GEMINI_TASK_TYPES[call.taskType],
        outputDimensionality: call.dimensions ?? undefined,
      })),
    });
  },
  parse: (reply, expected) => {
    const answer = parseJson(reply.body);
    return {
      vectors: placeInOrder(field(answer, 'embeddings'), expected, 'values'),
      tokens: tokensOf(field(field(answer, 'usageMetadata'), 'promptTokenCount')),
    };
  },
  // FAILED_PRECONDITION, reported as a 400, means that the account's country or billing is not accepted.
  faultOf: faultsOf((status, { codes }) =>
    status === 400 && codes.includes('FAILED_PRECONDITION') ? 'refused' : null,
  ),
};
