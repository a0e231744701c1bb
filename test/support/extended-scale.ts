/**
 * Scale a number of an extended test by `EXTENDED_SCALE`. A run with 0.01 shows within a minute that the test starts
 * and passes.
 */
export function scaled(full: number): number {
  const scale = Number(process.env['EXTENDED_SCALE'] ?? 1);
  return Math.max(1, Math.round(full * scale));
}
