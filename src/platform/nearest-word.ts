/** Maximum length of a word. A longer one is not a typing error, and the work grows with its length. */
const WORD_CHARACTERS_MAX = 64;
/** Minimum length of a word. Shorter words resemble unrelated words, since one letter of two is half of the word. */
const WORD_CHARACTERS_MIN = 3;

/**
 * Find the candidate that a person most likely meant, ignoring case; null if no candidate is similar, or if the word is
 * too short to tell.
 */
export function findNearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length < 2 || word.length > WORD_CHARACTERS_MAX) return null;
  const typed = word.toLowerCase();
  const isShort = word.length < WORD_CHARACTERS_MIN;
  let nearest: string | null = null;
  // A third of the letters may be wrong. A suggestion beyond that would be a guess.
  let smallest = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    if (isShort && !candidate.toLowerCase().startsWith(typed)) continue;
    const distance = countEdits(typed, candidate.toLowerCase());
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/**
 * Compute the optimal string alignment distance (Damerau 1964): the number of letters that were inserted, deleted,
 * replaced, or swapped with their neighbour, a common typing error (SLEECT).
 */
export function countEdits(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const edits = (row: number, column: number) => rows[row]?.[column] as number;
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let best = Math.min(edits(row - 1, column) + 1, edits(row, column - 1) + 1, edits(row - 1, column - 1) + +!same);
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) best = Math.min(best, edits(row - 2, column - 2) + 1);
      current.push(best);
    }
  }
  return edits(a.length, b.length);
}
