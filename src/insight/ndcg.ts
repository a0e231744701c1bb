const CUT = 10;

/**
 * Compute nDCG@10 of ranked documents (Järvelin and Kekäläinen, 2002).
 *
 * @param ranked document names, best first; a repeated name counts at its first rank
 * @param relevant gain of each relevant document, by name
 * @returns 0..1; 0 if no document is relevant
 */
export function ndcgOf(ranked: Iterable<string>, relevant: ReadonlyMap<string, number>): number {
  const gainAt = (gain: number, at: number) => gain / Math.log2(at + 2);
  const reached = [...new Set(ranked)]
    .slice(0, CUT)
    .reduce((sum, name, at) => sum + gainAt(relevant.get(name) ?? 0, at), 0);
  const ideal = [...relevant.values()]
    .toSorted((a, b) => b - a)
    .slice(0, CUT)
    .reduce((sum, gain, at) => sum + gainAt(gain, at), 0);
  return ideal === 0 ? 0 : reached / ideal;
}
