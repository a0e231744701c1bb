/**
 * Distribute a vendor's token total over the texts. Each text gets one token. The rest is distributed in proportion to
 * our counts minus one, by largest remainder, so that the integer shares add up to the total.
 *
 * @returns `counts` if the total is unknown or lower than the number of texts
 */
export function shareTokens(total: number | null, counts: readonly number[]): readonly number[] {
  const texts = counts.length;
  if (total === null || total < texts) return counts;
  if (texts === 1) return [total];
  const beyondFirst = total - texts;
  const weights = counts.map((count) => Math.max(0, count - 1));
  let sum = weights.reduce((one, other) => one + other, 0);
  if (sum === 0) {
    weights.fill(1);
    sum = texts;
  }
  const exact = weights.map((weight) => (beyondFirst * weight) / sum);
  const shares = exact.map((share) => 1 + Math.floor(share));
  let remaining = total - shares.reduce((one, other) => one + other, 0);
  const byRemainder = exact.map((share, index) => ({ index, remainder: share % 1 }));
  byRemainder.sort((one, other) => other.remainder - one.remainder || one.index - other.index);
  for (const { index } of byRemainder) {
    if (remaining <= 0) break;
    shares[index] = (shares[index] as number) + 1;
    remaining--;
  }
  return shares;
}
