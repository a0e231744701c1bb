import { afterAll, beforeAll, expect, test } from 'vitest';
import { bombs, deceptions, xmlAttacks } from '../support/hostile-files.ts';
import { damagedFiles, damagedParts, damagedScans, HostileReading } from './hostile-reading.ts';

// A sample of what the long test reads: every format, every kind of damage and of attack, but not each with each.
let reading: HostileReading;
beforeAll(async () => {
  reading = await HostileReading.open();
});
afterAll(() => reading.close());

test('damaged files of every format end in text or in an answer', async () => {
  const files = [...(await damagedFiles(true)), ...(await damagedScans(true)), ...damagedParts(1)];
  const endings = await reading.survive(files);
  expect(endings.get('corrupt')).toBeGreaterThan(2);
  expect(endings.get('text')).toBeGreaterThan(2);
});

test('XML attacks, bombs and documents that lie reach nothing and end in text or in an answer', async () => {
  const every = <T>(step: number, from: readonly T[]) => from.filter((_, nth) => nth % step === 0);
  const files = [
    ...every(7, xmlAttacks(reading.canary)),
    ...bombs(['docx: its text', 'xlsx: one string a million times', 'pdf: forms in forms', 'json: arrays']),
    ...every(5, await deceptions(reading.canary)),
  ];
  const endings = await reading.survive(files);
  expect(endings.get('corrupt')).toBeGreaterThan(2);
  expect(endings.get('too_large')).toBeGreaterThan(0);
});
