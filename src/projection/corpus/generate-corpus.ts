/**
 * Generator of the built-in calibration corpus, on which maps are fitted if the operator has no own texts. A seeded
 * grammar over this project's own word lists produces questions, statements, definitions, instructions, reviews, claims
 * and contradictions, headlines, titles, tables, dialogues, keywords and code, in English, Korean and both.
 *
 * It is worse than real text of the collection that will be searched, and better than real text of another one.
 * Measured identity recall@1 across synthetic models, as the mean of two English and two Korean test sets and of two
 * models (`npm run eval -- corpus`): 0.96 (0.94 to 0.99) for 5,000 of these texts, 0.99 for 4,635 real texts of the
 * searched collections, 0.82 for real texts of another collection, 0.98 for these texts with 500 real ones among them.
 * On web queries, which no source contains, it is 0.98 against 0.94 for real texts. For `local/lexical-1`, which
 * matches words only, the corpus is too small: 0.23 against 0.86.
 *
 * No real model was available. Only the order of the sources can be taken from these figures; the differences depend on
 * the parameters of the synthetic models (set to about what was measured between real ones, see
 * `test/eval/synthetic-model.ts`).
 */
import { seededRandom } from '../fit/split-pairs.ts';
import { articleOf, capitalised, titleCase } from './english-forms.ts';
import { createSampler, expand, type Template } from './grammar.ts';
import { createTasks, type Kind, type Language, type Task } from './tasks.ts';
import { ARTICLE, createVocabularies } from './vocabulary.ts';

export interface CorpusText {
  readonly text: string;
  /** Language of the grammar; one text in twenty contains words of the other language. */
  readonly language: Language;
  readonly domain: string;
  /** Kind of text, which selects the prompt of an asymmetric model. */
  readonly kind: Kind;
}

export const CORPUS_TEXTS = 6000;
const WORDS_MIN = 3;
const WORDS_MAX = 60;
const CHARS_MAX = 512;
const LANGUAGES: readonly Language[] = ['en', 'ko'];
const QUERY_MARK = 'q> ';

const ARTICLES = new RegExp(`${ARTICLE} (\\S+)`, 'g');

/**
 * Generate 6,000 distinct texts of 3 to 60 words and at most 512 characters, half English and half Korean, over all
 * domains in equal parts. A seed gives the same texts on every machine. A change to anything in `data/` changes them,
 * and a space that was created from other texts can no longer be extended with them: see the golden hash in the tests.
 */
export function generateCorpus(seed = 1): readonly CorpusText[] {
  const random = seededRandom(seed);
  const domains = createVocabularies(random);
  const tasks = createTasks();
  const draws = { en: taskSampler(tasks, 'en', random), ko: taskSampler(tasks, 'ko', random) };
  const seen = new Set<string>();
  const corpus: CorpusText[] = [];
  for (let step = 0; corpus.length < CORPUS_TEXTS; step++) {
    const language = LANGUAGES[step % LANGUAGES.length] as Language;
    const domain = domains[Math.floor(step / LANGUAGES.length) % domains.length] as (typeof domains)[number];
    const { task, template } = draws[language]();
    for (const part of expand(template, domain[language]).split(' || ')) {
      const isQuery = part.startsWith(QUERY_MARK);
      const text = finish(isQuery ? part.slice(QUERY_MARK.length) : part, task.casing);
      const key = text.toLowerCase();
      if (corpus.length === CORPUS_TEXTS || seen.has(key) || !fits(text)) continue;
      seen.add(key);
      corpus.push({ text, language, domain: domain.name, kind: isQuery ? 'query' : task.kind });
    }
  }
  return corpus;
}

/** Return a function that samples a task by its weight, and a template of the task. */
function taskSampler(tasks: readonly Task[], language: Language, random: () => number) {
  const weighted = tasks.flatMap((task) => {
    const templates = createSampler<Template>(task[language], random);
    return Array.from({ length: task.weight }, () => ({ task, templates }));
  });
  const nextTask = createSampler(weighted, random);
  return () => {
    const { task, templates } = nextTask();
    return { task, template: templates() };
  };
}

function fits(text: string): boolean {
  const words = text.split(/\s+/).length;
  return words >= WORDS_MIN && words <= WORDS_MAX && text.length <= CHARS_MAX;
}

function finish(text: string, casing: Task['casing']): string {
  const whole = text.replace(ARTICLES, (_, next: string) => `${articleOf(next)} ${next}`).trim();
  if (casing === 'title') return titleCase(whole);
  if (casing === 'none' || !/[.?!"]$/.test(whole)) return whole;
  return capitalised(whole).replace(/([.?!] )([a-z])/g, (_, end: string, letter: string) => end + letter.toUpperCase());
}
