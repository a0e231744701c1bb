import { pino } from 'pino';
import type { Logger } from '../../src/platform/logger.ts';

export interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly [field: string]: unknown;
}

/** Create a logger that collects its lines. */
export function keepLogs(): { logger: Logger; lines: LogLine[]; messages(): string[] } {
  const lines: LogLine[] = [];
  const logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(JSON.parse(line) as LogLine) });
  return { logger, lines, messages: () => lines.map(({ msg }) => msg) };
}
