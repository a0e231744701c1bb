/** The candidate that a person most likely meant, or null when none is near. */
export function findNearest(word: string, candidates: Iterable<string>): string | null {
  let nearest: string | null = null;
  // A third of the letters may be wrong; beyond that a suggestion is a guess.
  let smallest = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate);
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/** Levenshtein distance, by the two-row dynamic programme of Wagner and Fischer (1974). */
function editDistance(a: string, b: string): number {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = (above[column - 1] as number) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(substitution, (above[column] as number) + 1, (current[column - 1] as number) + 1));
    }
    above = current;
  }
  return above[b.length] as number;
}
