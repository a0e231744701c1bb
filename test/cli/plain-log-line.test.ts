import { expect, test } from 'vitest';
import { plainLogLine } from '../../src/cli/plain-log-line.ts';
import { openLogger } from '../../src/platform/logger.ts';

test('a line of the log of a command is one plain line with its facts and its cause', () => {
  const lines: string[] = [];
  const logger = openLogger('warn', { write: (line) => lines.push(plainLogLine(line)) });
  logger.info('not shown');
  logger.warn({ redis: '127.0.0.1:1', reason: 'nothing listens there', attempt: 3 }, 'Redis is not reachable');
  logger.error({ err: new Error('first\nsecond') }, 'it failed');
  logger.warn('plain');
  expect(lines).toEqual([
    'warning: Redis is not reachable (nothing listens there, 127.0.0.1:1)',
    'error: it failed (first second)',
    'warning: plain',
  ]);
});
