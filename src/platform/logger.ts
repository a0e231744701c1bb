import { pino } from 'pino';
import { logFields } from './work-context.ts';

export type Logger = pino.Logger;

/**
 * Open a logger that writes JSON lines, by default to stderr, since stdout is for the output of commands. Each line
 * carries the ids of the current request, job and trace.
 */
export function openLogger(
  level: string,
  destination: { write(line: string): void } = pino.destination({ dest: 2, sync: false }),
): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      mixin: logFields,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['req.headers.authorization', '*.password', '*.api_key', '*.secret'], censor: '***' },
    },
    destination,
  );
}
