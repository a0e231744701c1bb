/** Maximum word length. A longer word is not a typing error, and the work grows with the length. */
const WORD_CHARACTERS_MAX = 64;
/** Minimum word length. A shorter word resembles unrelated words: one letter of two is half of it. */
const WORD_CHARACTERS_MIN = 3;

/**
 * Find the candidate that a person most likely meant, ignoring case; null if none is similar, or if the word is too
 * short.
 */
export function findNearest(word: string, candidates: Iterable<string>): string | null {
  if (word.length < 2 || word.length > WORD_CHARACTERS_MAX) return null;
  const typed = word.toLowerCase();
  const isShort = word.length < WORD_CHARACTERS_MIN;
  let nearest: string | null = null;
  // A third of the letters may be wrong. Beyond that, a suggestion would be a guess.
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
 * Compute the optimal string alignment distance (Damerau 1964): the number of insertions, deletions and replacements of
 * letters, and of swaps of neighbours, a common typing error (SLEECT).
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
