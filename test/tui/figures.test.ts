import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import {
  formatDuration,
  formatLatency,
  formatPerSecond,
  formatShare,
  renderBar,
  renderSparkline,
} from '../../src/tui/figures.ts';

test.each([
  [null, '-'],
  [Number.POSITIVE_INFINITY, '-'],
  [-3, '0s'],
  [0.4, '0s'],
  [59.4, '59s'],
  [59.6, '1m00s'],
  [200, '3m20s'],
  [7_500, '2h05m'],
  [86_399, '23h59m'],
  [795_600, '9d05h'],
])('a duration of %s seconds is %s', (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test('rates, latencies and shares have short forms', () => {
  expect([null, 0, 0.004, 0.25, 12.34, 123.4, 12_345].map(formatPerSecond)).toEqual([
    ...['-', '0/s', '0/s', '0.25/s', '12.3/s', '123/s', '12,345/s'],
  ]);
  expect([null, 0.84, 45.4, 1_250, 12_345].map(formatLatency)).toEqual(['-', '0.8ms', '45ms', '1.25s', '12.3s']);
  expect([null, 0, 0.975, 1].map(formatShare)).toEqual(['-', '0%', '97.5%', '100%']);
});

test('a bar is full only when all is done', () => {
  expect(renderBar(0, 10, 4)).toBe('░░░░');
  expect(renderBar(5, 10, 4)).toBe('██░░');
  expect(renderBar(9_999, 10_000, 4)).toBe('███░');
  expect([renderBar(10, 10, 4), renderBar(12, 10, 4), renderBar(0, 0, 4)]).toEqual(['████', '████', '████']);
});

test('a sparkline has one cell for each of the newest values, on their own scale or a given one', () => {
  expect(renderSparkline([0, 1, 4, 8], 4)).toBe('▁▂▄█');
  expect(renderSparkline([9, 9, 0, 8], 2)).toBe('▁█');
  expect(renderSparkline([null, 0.5], 4, 1)).toBe('   ▄');
  expect(renderSparkline([0, 0], 3)).toBe(' ▁▁');
  expect(renderSparkline([], 3)).toBe('   ');
  expect(stringWidth(renderSparkline([0.001, 1_000], 2))).toBe(2);
});
