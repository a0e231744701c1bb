import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { checkEffects } from './check-effects.ts';
import { checkMatches } from './check-matches.ts';
import { checkNoise } from './check-noise.ts';
import { fingerprint, openSample, type Sample } from './sample.ts';

/** The evaluation `statements` runs a hundred times as many. */
const timeout = 300_000;

let database: TestDatabase;
let sample: Sample;
beforeAll(async () => {
  database = await createTestDatabase();
  sample = await openSample(database.sql);
});
afterAll(() => database.drop());

it('finds what the interpreter finds, for statements of the whole grammar', { timeout }, async () => {
  const tally = await checkMatches(sample, { seed: 7, numRuns: 1000 });
  expect(tally.telling).toBeGreaterThan(300);
});

it('does to the bucket what the interpreter says, and to nothing else', { timeout }, async () => {
  expect((await checkEffects(sample, { seed: 7, numRuns: 100 })).updated).toBeGreaterThan(500);
});

it('answers a damaged statement with a condition that can be asked or with statement_invalid', {
  timeout,
}, async () => {
  const before = await fingerprint(database.sql);
  const tally = await checkNoise(sample, { seed: 7, numRuns: 3000 });
  expect(tally.read).toBeGreaterThan(50);
  expect(await fingerprint(database.sql)).toBe(before);
});
