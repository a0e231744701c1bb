const WORDS =
  'the ferry to jeju leaves at seven from the harbour pier while tide tables list high water at dawn and every cabin ' +
  'key is returned before noon so that crews may clean twice a day';
const WORDS_A_TEXT = 30;
const BODIES = 512;

const words = WORDS.split(' ');
const bodies = Array.from({ length: BODIES }, (_, seed) =>
  Array.from({ length: WORDS_A_TEXT - 1 }, (_, i) => words[(seed * 7 + i * (1 + (seed % 11))) % words.length]).join(
    ' ',
  ),
);
let serial = 0;

/** Return new texts of 30 words (about 150 characters), never returned before. */
export function uniqueTexts(count: number): string[] {
  return Array.from({ length: count }, () => `${++serial} ${bodies[serial % BODIES]}`);
}
