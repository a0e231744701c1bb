const LETTERS = 'bcdfgkmpvz';
const SENTENCES = 24;
/** In tokens: the long texts make some chunks. */
export const CHUNKING = { chunk_size: 64, chunk_overlap: 16 };

/** A word that stands in one text alone, in each of its chunks. */
export function wordOf(text: number): string {
  const digits = [...String(text).padStart(5, '0')].map((digit) => LETTERS[Number(digit)]);
  return `zqx${digits.join('')}`;
}

/** Every other text is a long one. */
export function writeText(text: number, isBad: boolean): Buffer {
  const word = wordOf(text);
  if (isBad) return Buffer.from(`\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0${word}`, 'latin1');
  const sentences = text % 2 === 0 ? 1 : SENTENCES;
  const lines = Array.from(
    { length: sentences },
    (_, n) => `Finding ${n} of ${word} concerns the estuary and its tides.`,
  );
  return Buffer.from(lines.join(' '));
}
