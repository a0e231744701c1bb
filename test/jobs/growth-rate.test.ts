import { expect, test } from 'vitest';
import { GrowthRate } from '../../src/jobs/growth-rate.ts';

test('a growth rate is unknown until two moments can be compared', () => {
  const rate = new GrowthRate();
  expect(rate.perSecond).toBeNull();
  rate.add(1_000, 100);
  rate.add(1_000, 100);
  expect(rate.perSecond).toBeNull();
  rate.add(3_000, 400);
  expect(rate.perSecond).toBe(150);
});

test('a growth rate forgets old moments, and all moments when work begins anew', () => {
  const rate = new GrowthRate();
  rate.add(0, 0);
  for (let second = 1; second <= 60; second++) rate.add(second * 1_000, second <= 40 ? 0 : (second - 40) * 10);
  expect(rate.perSecond).toBe(10);
  rate.add(61_000, 5);
  expect(rate.perSecond).toBeNull();
  rate.add(62_000, 7);
  expect(rate.perSecond).toBe(2);
});
