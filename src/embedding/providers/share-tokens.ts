/**
 * A vendor's total, shared out to the texts by our own counts: one token each, the rest in proportion to what we
 * counted beyond the first, by largest remainder, so that the shares are whole and add up to the total exactly.
 *
 * @returns `counts` where the total is unknown, or too small to be true
 */
export function shareTokens(total: number | null, counts: readonly number[]): readonly number[] {
  const texts = counts.length;
  if (total === null || total < texts) return counts;
  if (texts === 1) return [total];
  const spare = total - texts;
  const weights = counts.map((count) => Math.max(0, count - 1));
  let sum = weights.reduce((left, right) => left + right, 0);
  if (sum === 0) {
    weights.fill(1);
    sum = texts;
  }
  const exact = weights.map((weight) => (spare * weight) / sum);
  const shares = exact.map((share) => 1 + Math.floor(share));
  let left = total - shares.reduce((one, other) => one + other, 0);
  const byRemainder = exact.map((share, index) => ({ index, remainder: share % 1 }));
  byRemainder.sort((one, other) => other.remainder - one.remainder || one.index - other.index);
  for (const { index } of byRemainder) {
    if (left <= 0) break;
    shares[index] = (shares[index] as number) + 1;
    left--;
  }
  return shares;
}
