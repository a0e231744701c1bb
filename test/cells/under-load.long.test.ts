import { expect, test } from 'vitest';
import { checkMoveUnderLoad } from './under-load.ts';

test('an organization moves under searches and uploads, with kills of each command: nothing is lost, searches wait for seconds', {
  timeout: 300_000,
}, async () => {
  const figures = await checkMoveUnderLoad(300, 1);
  process.stderr.write(`move under load: ${JSON.stringify(figures)}\n`);
  expect(figures.longestGapMs).toBeLessThan(10_000);
});
