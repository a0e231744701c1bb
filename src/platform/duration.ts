import { invalidRequest } from './errors.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

const DURATION_DAYS_MAX = 3650;

/**
 * Parse a duration (`90d`, `1h`, `30m`, `45s`, `2w`) into milliseconds.
 * @throws AppError `duration_invalid` (400), including for zero and for more than 3,650 days
 */
export function parseDuration(text: string, param: string | null = null): number {
  const [, digits, unit] = /^([0-9]{1,9})([smhdw])$/.exec(text.trim()) ?? [];
  const durationMs = Number(digits) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
  if (!(durationMs > 0)) {
    throw invalidRequest('a duration is a whole number and a unit: 45s, 30m, 1h, 90d, 2w', param, 'duration_invalid');
  }
  if (durationMs > DURATION_DAYS_MAX * 86_400_000) {
    throw invalidRequest(`a duration can be at most ${DURATION_DAYS_MAX}d`, param, 'duration_invalid');
  }
  return durationMs;
}
