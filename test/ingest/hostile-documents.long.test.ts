import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bombs, deceptions, xmlAttacks } from '../support/hostile-files.ts';
import { damagedFiles, damagedParts, damagedScans, HostileReading } from './hostile-reading.ts';

// Each ends in text or in a typed answer, within its bounds, and reaches nothing.
vi.setConfig({ testTimeout: 300_000 });

let reading: HostileReading;
beforeAll(async () => {
  reading = await HostileReading.open();
});
afterAll(() => reading.close());

test('damaged scans and pictures end in text or in an answer', async () => {
  const files = await damagedScans(false);
  expect((await reading.survive(files)).get('text')).toBeGreaterThan(files.length / 4);
});

test('damaged files of every format end in text or in an answer', async () => {
  const files = await damagedFiles(false);
  expect(files.length).toBeGreaterThan(100);
  const endings = await reading.survive(files);
  expect(endings.get('corrupt')).toBeGreaterThan(20);
  expect(endings.get('text')).toBeGreaterThan(20);
});

test('office documents with damaged parts end in text or in an answer', async () => {
  await reading.survive(damagedParts(5));
});

test('XML with entities from elsewhere, without end or of a hundred thousand levels ends in text or in an answer', async () => {
  expect((await reading.survive(xmlAttacks(reading.canary))).get('corrupt')).toBeGreaterThan(25);
});

test('small files that would unpack to much end in an answer', async () => {
  expect((await reading.survive(bombs())).get('too_large')).toBeGreaterThan(10);
});

test('documents whose references, names and types lie reach nothing', async () => {
  await reading.survive(await deceptions(reading.canary));
});
