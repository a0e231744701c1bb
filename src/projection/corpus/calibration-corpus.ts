import { readFileSync } from 'node:fs';

/** A text of the built-in calibration corpus. */
export interface CorpusText {
  readonly text: string;
  /** Main language; one text in twenty contains words of the other language. */
  readonly language: 'en' | 'ko';
  readonly domain: string;
  /** Kind of text, which selects the prompt of an asymmetric model. */
  readonly kind: 'query' | 'passage';
}

let corpus: readonly CorpusText[] | null = null;

/**
 * Return the built-in calibration corpus, on which maps are fitted if the operator has no own texts: 6,000 distinct texts
 * of 3 to 60 words, half English and half Korean, over 31 domains in equal parts. They are questions, statements,
 * definitions, instructions, reviews, headlines, tables, dialogues, keywords and code, made from this project's own word
 * lists. Names of people, places and firms are invented.
 *
 * A space that was created from other texts cannot be extended with these, so the file never changes; a test pins its
 * hash. The corpus is worse than real text of the collection that will be searched, and better than real text of another
 * one (`npm run eval -- corpus`).
 */
export function readCalibrationCorpus(): readonly CorpusText[] {
  corpus ??= readFileSync(new URL('./calibration-corpus.jsonl', import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as CorpusText);
  return corpus;
}
