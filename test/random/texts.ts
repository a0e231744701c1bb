const LETTERS = 'bcdfgkmpvz';
const SENTENCES = 5;
const WORDS_A_SENTENCE = 36;
/** In tokens: each sentence of a long text is a chunk. */
export const CHUNKING = { chunk_size: 96, chunk_overlap: 0 };

/** A word that stands in one text alone, in each of its chunks. */
export function wordOf(text: number): string {
  const digits = [...String(text).padStart(5, '0')].map((digit) => LETTERS[Number(digit)]);
  return `zqx${digits.join('')}`;
}

/**
 * Every other text is a long one. The word stands in each chunk once: what LanceDB 0.31 has not indexed yet it scores by
 * how often a term occurs in it, in place of how many rows have it, and leaves out whatever scores below zero by that.
 */
export function writeText(text: number, isBad: boolean): Buffer {
  const word = wordOf(text);
  if (isBad) return Buffer.from(`\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0${word}`, 'latin1');
  const sentences = text % 2 === 0 ? 1 : SENTENCES;
  return Buffer.from(
    Array.from({ length: sentences }, (_, n) => `Finding ${n} of ${word} is ${fillerOf(n)}.`).join(' '),
  );
}

/** Other words in each chunk, or a search shows only the first of them. */
function fillerOf(sentence: number): string {
  const words = Array.from({ length: WORDS_A_SENTENCE }, (_, n) => {
    const number = sentence * WORDS_A_SENTENCE + n;
    return `${LETTERS[number % 10]}o${LETTERS[Math.floor(number / 10) % 10]}a${LETTERS[Math.floor(number / 100)]}`;
  });
  return words.join(' ');
}
