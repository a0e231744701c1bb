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
 * English and half Korean, over 31 domains in equal parts. They are questions, statements, definitions, instructions,
 * reviews, headlines, tables, dialogues, keywords and code, made from this project's own word lists. Names of people,
 * places and firms are invented.
 *
 * A space that was created from other texts cannot be extended with these, so the file never changes; a test pins its
 * hash. The corpus is worse than real text of the collection to search, and better than real text of another one (`npm
 * run eval -- corpus`).
 */
export function readCalibrationCorpus(): readonly CorpusText[] {
  corpus ??= readFileSync(new URL('./calibration-corpus.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CorpusText);
  return corpus;
}
