import { readFileSync } from 'node:fs';

export interface CorpusText {
  readonly text: string;
  /** Main language. One text in twenty contains words of the other language. */
  readonly language: 'en' | 'ko';
  readonly domain: string;
  /** Kind of text, which selects the prompt of an asymmetric model. */
  readonly kind: 'query' | 'passage';
}

let corpus: readonly CorpusText[] | null = null;

/**
 * Return the built-in calibration corpus, the default for fitting maps: 6,000 distinct texts of 3 to 60 words, half
 * English and half Korean, across 31 domains. A fit on fewer texts uses the first ones.
 *
 * - 1,096 of the first 2,000 texts were written for this corpus: passages of two to four sentences, and questions that
 *   they answer. They are articles, notices, FAQ answers, reviews, messages, records and code.
 * - The others are questions, statements, definitions, instructions, headlines, tables, dialogues and keywords,
 *   generated from this project's own word lists. Names of people, places and companies are invented.
 *
 * A space keeps the texts that it was created from, so a new version of the corpus affects only later spaces. A test
 * pins the hash. The corpus is worse than real text from the searched collection, and better than real text from
 * another one (`npm run eval -- corpus`, `npm run eval -- projections`).
 */
export function readCalibrationCorpus(): readonly CorpusText[] {
  corpus ??= readFileSync(new URL('./calibration-corpus.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CorpusText);
  return corpus;
}
