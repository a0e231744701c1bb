import type { Template } from './grammar.ts';
import {
  ENGLISH_CODE,
  ENGLISH_CODE_QUESTIONS,
  ENGLISH_MIXED,
  KOREAN_CODE,
  KOREAN_CODE_QUESTIONS,
  KOREAN_MIXED,
} from './templates/code.ts';
import { ENGLISH_TEMPLATES } from './templates/english.ts';
import { KOREAN_TEMPLATES } from './templates/korean.ts';
import { templatesOf } from './vocabulary.ts';

export type Language = 'en' | 'ko';
export type Kind = 'query' | 'passage';

/** How English text is written: capitals at the beginning of sentences, of all words, or as it stands. */
type Casing = 'sentence' | 'title' | 'none';

export interface Task {
  readonly kind: Kind;
  readonly casing: Casing;
  /** How often it is drawn, in relation to the others. */
  readonly weight: number;
  readonly en: readonly Template[];
  readonly ko: readonly Template[];
}

function task(kind: Kind, casing: Casing, weight: number, english: string = '', korean: string = ''): Task {
  return { kind, casing, weight, en: templatesOf(english), ko: templatesOf(korean) };
}

/** Everything that an embedding model is asked to place: see the templates for what each looks like. */
export function createTasks(): Task[] {
  const plain = (name: keyof typeof ENGLISH_TEMPLATES, kind: Kind, casing: Casing, weight: number) =>
    task(kind, casing, weight, ENGLISH_TEMPLATES[name], KOREAN_TEMPLATES[name]);
  return [
    plain('question', 'query', 'sentence', 20),
    plain('howto', 'query', 'sentence', 8),
    plain('keywords', 'query', 'none', 11),
    plain('instruction', 'query', 'sentence', 7),
    plain('statement', 'passage', 'sentence', 15),
    plain('passage', 'passage', 'sentence', 14),
    plain('definition', 'passage', 'sentence', 5),
    plain('review', 'passage', 'sentence', 6),
    plain('headline', 'passage', 'sentence', 5),
    plain('title', 'passage', 'title', 4),
    plain('row', 'passage', 'none', 4),
    plain('dialogue', 'passage', 'sentence', 5),
    plain('opinion', 'passage', 'sentence', 3),
    plain('claim', 'passage', 'sentence', 3),
    plain('answered', 'passage', 'sentence', 4),
    plain('paraphrase', 'passage', 'sentence', 2),
    task('passage', 'none', 4, ENGLISH_CODE, KOREAN_CODE),
    task('query', 'none', 4, ENGLISH_CODE_QUESTIONS, KOREAN_CODE_QUESTIONS),
    task('passage', 'sentence', 5, ENGLISH_MIXED, KOREAN_MIXED),
  ];
}
