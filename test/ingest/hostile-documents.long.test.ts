import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { bombs, deceptions, xmlAttacks } from '../support/hostile-files.ts';
import { damagedFiles, damagedParts, damagedScans, HostileReading } from './hostile-reading.ts';

// Each document ends with text or an expected error, within its bounds, without access to files or network.
vi.setConfig({ testTimeout: 300_000 });

let reading: HostileReading;
beforeAll(async () => {
  reading = await HostileReading.open();
});
afterAll(() => reading.close());

test('damaged scans and pictures end with text or an expected error', async () => {
  const files = await damagedScans(false);
  expect((await reading.survive(files)).get('text')).toBeGreaterThan(files.length / 4);
});

test('damaged files of every format end with text or an expected error', async () => {
  const files = await damagedFiles(false);
  expect(files.length).toBeGreaterThan(100);
  const outcomes = await reading.survive(files);
  expect(outcomes.get('corrupt')).toBeGreaterThan(20);
  expect(outcomes.get('text')).toBeGreaterThan(20);
});

test('office documents with damaged parts end with text or an expected error', async () => {
  await reading.survive(damagedParts(5));
});

test('XML with external entities, endless XML and XML of a hundred thousand levels end with text or an expected error', async () => {
  expect((await reading.survive(xmlAttacks(reading.canary))).get('corrupt')).toBeGreaterThan(25);
});

test('decompression bombs end with an expected error', async () => {
  expect((await reading.survive(bombs())).get('too_large')).toBeGreaterThan(10);
});

test('documents with deceptive references, names and types get no access to files or network', async () => {
  await reading.survive(await deceptions(reading.canary));
});
