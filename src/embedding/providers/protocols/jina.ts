import type { TaskType } from '../../../models/task-types.ts';
import { faultsOf } from '../../../platform/upstream/classify.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import { parseOpenAiShape } from './openai.ts';
import type { Protocol } from './protocol.ts';

const TASKS: Readonly<Record<TaskType, string>> = {
  retrieval_query: 'retrieval.query',
  retrieval_document: 'retrieval.passage',
  semantic_similarity: 'text-matching',
  question_answering: 'retrieval.query',
  clustering: 'separation',
  classification: 'classification',
  code_retrieval: 'retrieval.query',
  contradiction: 'retrieval.query',
  factcheck: 'retrieval.query',
};

/** Protocol of Jina AI's `POST /embeddings`. An empty account answers 403 `AUTHZ_INSUFFICIENT_BALANCE`. */
export const jina: Protocol = {
  caps: { itemsMax: 512, tokensMax: null },
  request: (call) =>
    postJson('/embeddings', bearer(call.apiKey), {
      input: wellFormed(call.texts),
      model: call.upstreamModel,
      task: call.taskType === null ? undefined : TASKS[call.taskType],
      dimensions: call.dimensions ?? undefined,
      embedding_type: 'base64',
      truncate: false,
    }),
  parse: parseOpenAiShape,
  faultOf: faultsOf(),
};
