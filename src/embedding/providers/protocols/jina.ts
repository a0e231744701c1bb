import type { TaskType } from '../../../models/task-types.ts';
import { openAiShaped } from './openai.ts';

type Tasks = Readonly<Record<TaskType, string | undefined>>;

const V3: Tasks = {
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
/**
 * Code has its own adapter, but documents are embedded with the retrieval adapter, and both sides must use the same.
 */
const V4: Tasks = { ...V3, clustering: 'text-matching', classification: 'text-matching' };
const V5: Tasks = { ...V3, clustering: 'clustering' };
const CODE = mapTasks((task) => (task === 'retrieval.passage' ? 'nl2code.passage' : 'nl2code.query'));
/** The model only distinguishes search queries. */
const CLIP_V2 = mapTasks((task) => (task === 'retrieval.query' ? task : undefined));
const NONE = mapTasks(() => undefined);

/** Tasks by model, from https://api.jina.ai/openapi.json. Another name counts as v3. */
const TASKS: readonly (readonly [RegExp, Tasks])[] = [
  [/jina-embeddings-v5\b/, V5],
  [/jina-embeddings-v4\b/, V4],
  [/jina-embeddings-v2\b|jina-clip-v1\b/, NONE],
  [/jina-clip-v2\b/, CLIP_V2],
  [/jina-code-embeddings\b/, CODE],
];

function mapTasks(change: (task: string | undefined) => string | undefined): Tasks {
  return Object.fromEntries(Object.entries(V3).map(([taskType, task]) => [taskType, change(task)])) as Tasks;
}

function taskOf(model: string, taskType: TaskType): string | undefined {
  const [, tasks] = TASKS.find(([name]) => name.test(model)) ?? [null, V3];
  return tasks[taskType];
}

/** Protocol of Jina AI's `POST /embeddings`. An empty account answers 403 `AUTHZ_INSUFFICIENT_BALANCE`. */
export const jina = openAiShaped({ itemsMax: 512, tokensMax: null }, ({ upstreamModel, taskType, dimensions }) => ({
  task: taskType === null ? undefined : taskOf(upstreamModel, taskType),
  dimensions: dimensions ?? undefined,
  embedding_type: 'base64',
  truncate: false,
}));
