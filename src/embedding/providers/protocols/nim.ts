import type { TaskType } from '../../../models/task-types.ts';
import { openAiShaped } from './openai.ts';

/**
 * Input types by task type. The models distinguish only queries and passages. Texts to compare with each other are
 * passages.
 */
const INPUT_TYPES: Readonly<Record<TaskType, 'query' | 'passage'>> = {
  retrieval_query: 'query',
  retrieval_document: 'passage',
  semantic_similarity: 'passage',
  question_answering: 'query',
  clustering: 'passage',
  classification: 'passage',
  code_retrieval: 'query',
  contradiction: 'query',
  factcheck: 'query',
};

/**
 * Protocol of NVIDIA NIM for embeddings, `POST /embeddings`
 * (docs.nvidia.com/nim/nemo-retriever/embedding/latest/reference.html, November 2026). A text without a task type
 * counts as a passage. The page states no limit on texts; NVIDIA's own client sends 50.
 */
export const nim = openAiShaped({ itemsMax: 50, tokensMax: null }, ({ taskType, dimensions }) => ({
  input_type: INPUT_TYPES[taskType ?? 'retrieval_document'],
  modality: 'text',
  truncate: 'NONE',
  dimensions: dimensions ?? undefined,
  encoding_format: 'base64',
}));
