import { pino } from 'pino';

export type Logger = pino.Logger;

/** JSON lines on stderr, so that stdout stays free for what a command prints. */
export function openLogger(level: string): Logger {
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: ['req.headers.authorization', '*.password', '*.api_key', '*.secret'], censor: '***' },
    },
    pino.destination({ dest: 2, sync: false }),
  );
}
