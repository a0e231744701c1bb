const DAY_MS = 86_400_000;

/** List the UTC days (`2026-11-22`) from one time to before another. */
export function daysBetween(startMs: number, endMs: number): string[] {
  const days: string[] = [];
  for (let ms = startMs; ms < endMs; ms += DAY_MS) days.push(new Date(ms).toISOString().slice(0, 10));
  return days;
}

/** List the last UTC days, ending with today. */
export function lastDays(count: number, nowMs = Date.now()): string[] {
  return daysBetween(nowMs - (count - 1) * DAY_MS, nowMs + 1);
}
