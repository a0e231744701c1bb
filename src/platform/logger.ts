import { pino } from 'pino';

export type Logger = pino.Logger;

/** Open a logger that writes JSON lines, by default to stderr; stdout is left to the output of commands. */
export function openLogger(
  level: string,
  destination: { write(line: string): void } = pino.destination({ dest: 2, sync: false }),
): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['req.headers.authorization', '*.password', '*.api_key', '*.secret'], censor: '***' },
    },
    destination,
  );
}
