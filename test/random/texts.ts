const LETTERS = 'bcdfgkmpvz';
const SENTENCES = 5;
const WORDS_A_SENTENCE = 36;
/** Chunking in tokens by which each sentence of a long text is a chunk. */
export const CHUNKING = { chunk_size: 96, chunk_overlap: 0 };

/** Return the word that is unique to one text and occurs in each of its chunks. */
export function wordOf(text: number): string {
  const digits = [...String(text).padStart(5, '0')].map((digit) => LETTERS[Number(digit)]);
  return `zqx${digits.join('')}`;
}

/**
 * Write a text; every other one is long. The word occurs once in each chunk, since LanceDB 0.31 scores rows that are
 * not indexed yet by the number of occurrences of a term instead of the number of rows with it, and omits negative
 * scores.
 */
export function writeText(text: number, isBad: boolean): Buffer {
  const word = wordOf(text);
  if (isBad) return Buffer.from(`\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0${word}`, 'latin1');
  const sentences = text % 2 === 0 ? 1 : SENTENCES;
  return Buffer.from(
    Array.from({ length: sentences }, (_, n) => `Finding ${n} of ${word} is ${fillerOf(n)}.`).join(' '),
  );
}

/** Return different words for each chunk. A search would show only the first of equal chunks. */
function fillerOf(sentence: number): string {
  const words = Array.from({ length: WORDS_A_SENTENCE }, (_, n) => {
    const number = sentence * WORDS_A_SENTENCE + n;
    return `${LETTERS[number % 10]}o${LETTERS[Math.floor(number / 10) % 10]}a${LETTERS[Math.floor(number / 100)]}`;
  });
  return words.join(' ');
}
