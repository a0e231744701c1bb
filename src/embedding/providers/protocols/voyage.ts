import type { TaskType } from '../../../models/task-types.ts';
import { faultsOf } from '../../../platform/upstream/classify.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import { parseOpenAiShape } from './openai.ts';
import type { Protocol } from './protocol.ts';

const INPUT_TYPES: Readonly<Record<TaskType, 'query' | 'document' | null>> = {
  retrieval_query: 'query',
  retrieval_document: 'document',
  semantic_similarity: null,
  question_answering: 'query',
  clustering: null,
  classification: null,
  code_retrieval: 'query',
  contradiction: 'query',
  factcheck: 'query',
};

/**
 * Protocol of Voyage AI's `POST /embeddings`. Depending on the model, a call may have 120,000 to 1,000,000 tokens. The
 * lowest limit is used for all.
 */
export const voyage: Protocol = {
  caps: { itemsMax: 1000, tokensMax: 120_000 },
  request: (call) =>
    postJson('/embeddings', bearer(call.apiKey), {
      input: wellFormed(call.texts),
      model: call.upstreamModel,
      input_type: call.taskType === null ? null : INPUT_TYPES[call.taskType],
      truncation: false,
      output_dimension: call.dimensions ?? undefined,
      encoding_format: 'base64',
    }),
  parse: parseOpenAiShape,
  faultOf: faultsOf(),
};
