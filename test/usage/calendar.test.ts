import { expect, test } from 'vitest';
import { bookingDay, nextMonthMs, toPeriod } from '../../src/usage/calendar.ts';

const NOW = Date.parse('2026-08-15T12:00:00Z');

test.each([
  ['2026-08-01T00:00:00.000Z', '2026-08-01', '2026-08-01', '2026-09-01'],
  ['2026-08-31T23:59:59.999Z', '2026-08-31', '2026-08-01', '2026-09-01'],
  ['2026-12-31T23:59:59.999Z', '2026-12-31', '2026-12-01', '2027-01-01'],
  ['2028-02-29T00:00:00.000Z', '2028-02-29', '2028-02-01', '2028-03-01'],
])('%s is booked on %s, in the month of %s, before %s', (instant, day, month, next) => {
  const nowMs = Date.parse(instant);
  expect(bookingDay(nowMs)).toMatchObject({ day, month });
  expect(new Date(nextMonthMs(nowMs)).toISOString()).toBe(`${next}T00:00:00.000Z`);
});

test.each([
  ['nothing: this month', {}, '2026-08-01', '2026-09-01'],
  ['dates', { from: '2026-06-01', to: '2026-06-08' }, '2026-06-01', '2026-06-08'],
  ['only a start: until the end of this month', { from: '2026-03-10' }, '2026-03-10', '2026-09-01'],
  ['only an end: from the start of its month', { to: '2026-07-01' }, '2026-06-01', '2026-07-01'],
  [
    'instants, widened to whole days',
    { from: '2026-06-01T23:30:00+09:00', to: '2026-06-02T00:00:00.001Z' },
    '2026-06-01',
    '2026-06-03',
  ],
  ['a leap year', { from: '2028-01-01', to: '2029-01-01' }, '2028-01-01', '2029-01-01'],
])('a period given by %s is widened to whole days', (_, range, start, end) => {
  expect(toPeriod(range, NOW)).toEqual({ startMs: Date.parse(start), endMs: Date.parse(end) });
});

test.each([
  [{ from: 'yesterday' }, 'from', 'must be a date'],
  [{ from: '2026-02-30' }, 'from', 'must be a date'],
  [{ from: '2026-06-01T00:00:00' }, 'from', 'must be a date'],
  [{ to: '' }, 'to', 'must be a date'],
  [{ to: '1785542400' }, 'to', 'must be a date'],
  [{ from: '0000-01-01', to: '0000-02-01' }, 'to', '1970 to 9998'],
  [{ from: '0000-01-01' }, 'from', '1970 to 9998'],
  [{ from: '1969-12-31' }, 'from', '1970 to 9998'],
  [{ from: '1970-01-01T00:00:00+09:00' }, 'from', '1970 to 9998'],
  [{ to: '9999-12-31T23:59:59Z' }, 'to', '1970 to 9998'],
  [{ to: '9998-12-31T23:59:59-09:00' }, 'to', '1970 to 9998'],
  [{ from: '2026-06-08', to: '2026-06-08' }, 'from', 'before'],
  [{ from: '2026-10-01' }, 'from', 'before'],
  [{ from: '2025-06-01', to: '2026-06-03' }, 'from', '366 days'],
])('the period %j is refused, and the error names %s', (range, param, message) => {
  expect(() => toPeriod(range, NOW)).toThrow(
    expect.objectContaining({ status: 400, param, message: expect.stringContaining(message) }),
  );
});
