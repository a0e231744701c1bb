/**
 * Compute the normalised discounted cumulative gain of a ranking with binary gains (Järvelin and Kekäläinen, ACM TOIS
 * 2002): a relevant document at rank r gains 1 / log2(r + 1), and the ideal ranking is also truncated at `k`.
 *
 * @param ranked ids, best first, without repeats
 * @param relevant at least one id
 * @returns 0..1
 */
export function ndcgAt(ranked: readonly string[], relevant: ReadonlySet<string>, k: number): number {
  let gain = 0;
  let ideal = 0;
  for (let index = 0; index < k; index++) {
    const discount = 1 / Math.log2(index + 2);
    const id = ranked[index];
    if (id !== undefined && relevant.has(id)) gain += discount;
    if (index < relevant.size) ideal += discount;
  }
  return gain / ideal;
}

/** Compute the share of the relevant documents that are among the first `k`. @returns 0..1 */
export function recallAt(ranked: readonly string[], relevant: ReadonlySet<string>, k: number): number {
  return ranked.slice(0, k).filter((id) => relevant.has(id)).length / relevant.size;
}
