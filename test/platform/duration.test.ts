import { expect, test } from 'vitest';
import { parseDuration } from '../../src/platform/duration.ts';

test.each([
  ['45s', 45_000],
  ['30m', 1_800_000],
  ['1h', 3_600_000],
  ['90d', 7_776_000_000],
  [' 2w ', 1_209_600_000],
])('the duration "%s" is %d ms', (text, durationMs) => {
  expect(parseDuration(text)).toBe(durationMs);
});

test.each(['', '90', 'd', '0d', '-1d', '1.5h', '1y', '1d2h', '3651d', '99999999999s', '１d', '1D'])(
  'the duration %j is refused',
  (text) => {
    expect(() => parseDuration(text, 'expires')).toThrow(
      expect.objectContaining({ code: 'duration_invalid', status: 400, param: 'expires' }),
    );
  },
);
