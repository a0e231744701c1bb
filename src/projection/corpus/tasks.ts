import { corpusData, type TaskName } from './corpus-data.ts';
import { parseTemplates, type Template } from './grammar.ts';

export type Language = 'en' | 'ko';
export type Kind = 'query' | 'passage';

/** Capitals of English text: at the beginning of sentences, of all words, or unchanged. */
type Casing = 'sentence' | 'title' | 'none';

export interface Task {
  readonly kind: Kind;
  readonly casing: Casing;
  /** Relative frequency of the task. */
  readonly weight: number;
  readonly en: readonly Template[];
  readonly ko: readonly Template[];
}

const TASKS: Readonly<Record<TaskName, readonly [kind: Kind, casing: Casing, weight: number]>> = {
  question: ['query', 'sentence', 20],
  howto: ['query', 'sentence', 8],
  keywords: ['query', 'none', 11],
  instruction: ['query', 'sentence', 7],
  statement: ['passage', 'sentence', 15],
  passage: ['passage', 'sentence', 14],
  definition: ['passage', 'sentence', 5],
  review: ['passage', 'sentence', 6],
  headline: ['passage', 'sentence', 5],
  title: ['passage', 'title', 4],
  row: ['passage', 'none', 4],
  dialogue: ['passage', 'sentence', 5],
  opinion: ['passage', 'sentence', 3],
  claim: ['passage', 'sentence', 3],
  answered: ['passage', 'sentence', 4],
  paraphrase: ['passage', 'sentence', 2],
  code: ['passage', 'none', 4],
  'code-question': ['query', 'none', 4],
  mixed: ['passage', 'sentence', 5],
};

/** Create all tasks, in the order on which the result of a seed depends. */
export function createTasks(): Task[] {
  const { en, ko } = corpusData().templates;
  return (Object.keys(TASKS) as TaskName[]).map((name) => {
    const [kind, casing, weight] = TASKS[name];
    return { kind, casing, weight, en: parseTemplates(en[name]), ko: parseTemplates(ko[name]) };
  });
}
