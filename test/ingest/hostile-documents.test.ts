import { afterAll, beforeAll, expect, test } from 'vitest';
import { bombs, deceptions, xmlAttacks } from '../support/hostile-files.ts';
import { HostileReading } from './hostile-reading.ts';

// These files are a small sample of those in the long test.
let reading: HostileReading;
beforeAll(async () => {
  reading = await HostileReading.open();
});
afterAll(() => reading.close());

test('XML attacks, bombs and deceptive documents get no access and end with text or an expected error', async () => {
  const every = <T>(step: number, from: readonly T[]) => from.filter((_, nth) => nth % step === 0);
  const files = [
    ...every(14, xmlAttacks(reading.canary)),
    ...bombs(['docx: its text', 'json: arrays']),
    ...every(10, await deceptions(reading.canary)),
  ];
  const outcomes = await reading.survive(files);
  expect(outcomes.get('corrupt')).toBeGreaterThan(2);
  expect(outcomes.get('too_large')).toBeGreaterThan(0);
});
