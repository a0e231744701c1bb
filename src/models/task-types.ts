import { z } from 'zod';

/** Intended use of a vector (contract 2.2); instruction-aware models embed accordingly. */
export const TaskType = z.enum([
  'retrieval_query',
  'retrieval_document',
  'semantic_similarity',
  'question_answering',
  'clustering',
  'classification',
  'code_retrieval',
  'contradiction',
  'factcheck',
]);
export type TaskType = z.infer<typeof TaskType>;
