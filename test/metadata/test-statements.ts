import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { SEED } from '../support/random.ts';
import { checkEffects } from './check-effects.ts';
import { checkMatches } from './check-matches.ts';
import { checkNoise } from './check-noise.ts';
import { fingerprint, openSample, type Sample } from './sample.ts';

const timeout = 300_000;

/** Compare random statements of the whole grammar with an interpreter; the evaluation `statements` draws far more. */
export function testStatements(runs: { matches: number; effects: number; noise: number }): void {
  let database: TestDatabase;
  let sample: Sample;
  beforeAll(async () => {
    database = await createTestDatabase();
    sample = await openSample(database.sql);
  });
  afterAll(() => database.drop());

  it('a statement of the grammar finds what the interpreter finds', { timeout }, async () => {
    const tally = await checkMatches(sample, { seed: SEED, numRuns: runs.matches });
    expect(tally.discriminating).toBeGreaterThan(0.3 * runs.matches);
  });

  it('a changing statement has the effects that the interpreter computes, and no others', {
    timeout,
  }, async () => {
    const { updated } = await checkEffects(sample, { seed: SEED, numRuns: runs.effects });
    expect(updated).toBeGreaterThan(3 * runs.effects);
  });

  it('a damaged statement is either valid and can be executed, or refused as statement_invalid', {
    timeout,
  }, async () => {
    const before = await fingerprint(database.sql);
    const tally = await checkNoise(sample, { seed: SEED, numRuns: runs.noise });
    expect(tally.read).toBeGreaterThan(0.01 * runs.noise);
    expect(await fingerprint(database.sql)).toBe(before);
  });
}
