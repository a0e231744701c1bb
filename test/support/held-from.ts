/**
 * Return the number of the first text that an upstream holds back until the next kill of a worker, so that progress
 * remains for every kill: a job whose worker is killed several times without progress fails. After the last kill, it
 * holds back none.
 *
 * @param kill number of kills so far
 */
export function heldFrom(
  kill: number,
  { count, kills, chunkTexts }: { readonly count: number; readonly kills: number; readonly chunkTexts: number },
): number {
  if (kill >= kills) return Number.POSITIVE_INFINITY;
  return Math.ceil(((kill + 1) * count) / (kills + 1) / chunkTexts) * chunkTexts;
}
