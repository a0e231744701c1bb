import { formatDuration } from '../../lib/format.ts';
import type { JobView } from '../../types.ts';

/** Count the started attempts. A waiting job has not started its next one. */
export function attemptsOf({ status, started_at, retry_count }: JobView): number {
  return status === 'queued' || started_at === null ? retry_count : retry_count + 1;
}

/** Format the time from the start of a job to its end, or to now. */
export function lengthOf({ started_at, completed_at }: JobView): string {
  if (started_at === null) return '–';
  const endMs = completed_at === null ? Date.now() : Date.parse(completed_at);
  return formatDuration(Math.max(0, endMs - Date.parse(started_at)));
}
