import { expect, test } from 'vitest';
import { scaled } from '../support/extended-scale.ts';
import { checkMoveUnderLoad } from './under-load.ts';

const DOCUMENTS = scaled(10_000);
const KILLS = 3;

test(`an organization of ${DOCUMENTS} documents moves under load: none is lost, and searches are refused for at most 5 s`, {
  timeout: 3_600_000,
}, async () => {
  const figures = await checkMoveUnderLoad(DOCUMENTS, KILLS);
  process.stderr.write(`move under load: ${JSON.stringify(figures)}\n`);
  expect(figures.longestGapMs).toBeLessThan(5_000);
});
