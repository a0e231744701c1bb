import { Cron } from 'croner';

/** Options of schedules. UTC avoids times that clock changes skip or repeat. */
const OPTIONS = { mode: '5-part', timezone: 'UTC', paused: true } as const;

/** Describe the fault of a five-field cron expression. Return null if it is valid and will fire. */
export function scheduleFault(expression: string): string | null {
  try {
    return nextRun(expression, new Date()) === null ? 'never fires: there is no such day' : null;
  } catch {
    return 'must be a cron expression of five fields: minute hour day month weekday, such as "30 2 * * *"';
  }
}

/** Return the first time after `after` at which a cron expression fires, or null. */
export function nextRun(expression: string, after: Date): Date | null {
  return new Cron(expression, OPTIONS).nextRun(after);
}
