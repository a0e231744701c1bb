import { expect, test } from 'vitest';
import { Deadline } from '../../src/ingest/extract/deadline.ts';
import { until } from '../support/until.ts';

const MS = 30;
const LONG_MS = 60_000;

test('a deadline calls its listener once, after its time', async () => {
  let calls = 0;
  const deadline = new Deadline(MS, () => calls++);
  expect(deadline.isOver).toBe(false);
  await until(async () => deadline.isOver);
  expect(calls).toBe(1);
});

test('an extended deadline is not over at its original time', async () => {
  const plain = new Deadline(MS, () => {});
  const extended = new Deadline(MS, () => {});
  const paused = new Deadline(MS, () => {});
  extended.extend(LONG_MS);
  const pause = Promise.withResolvers<void>();
  const pausing = paused.pause(pause.promise);
  paused.extend(LONG_MS);
  pause.resolve();
  await pausing;
  await until(async () => plain.isOver);
  const later = new Deadline(MS, () => {});
  await until(async () => later.isOver);
  expect([extended.isOver, paused.isOver]).toEqual([false, false]);
  extended.stop();
  paused.stop();
});
