import type { TaskType } from '../../../models/task-types.ts';
import { openAiShaped } from './openai.ts';

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
 * Protocol of Voyage AI's `POST /embeddings` (docs.voyageai.com/reference/embeddings-api, November 2026). Depending on
 * the model, a call may have 120,000 to 1,000,000 tokens. Use the lowest limit for all.
 */
export const voyage = openAiShaped({ itemsMax: 1000, tokensMax: 120_000 }, ({ taskType, dimensions }) => ({
  input_type: taskType === null ? null : INPUT_TYPES[taskType],
  truncation: false,
  output_dimension: dimensions ?? undefined,
  encoding_format: 'base64',
}));
