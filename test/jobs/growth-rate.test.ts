import { expect, test } from 'vitest';
import { GrowthRate } from '../../src/jobs/growth-rate.ts';

test('is unknown until two moments can be compared', () => {
  const pace = new GrowthRate();
  expect(pace.perSecond).toBeNull();
  pace.add(1_000, 100);
  pace.add(1_000, 100);
  expect(pace.perSecond).toBeNull();
  pace.add(3_000, 400);
  expect(pace.perSecond).toBe(150);
});

test('forgets what was long ago, and everything when work begins anew', () => {
  const pace = new GrowthRate();
  pace.add(0, 0);
  for (let second = 1; second <= 60; second++) pace.add(second * 1_000, second <= 40 ? 0 : (second - 40) * 10);
  expect(pace.perSecond).toBe(10);
  pace.add(61_000, 5);
  expect(pace.perSecond).toBeNull();
  pace.add(62_000, 7);
  expect(pace.perSecond).toBe(2);
});
