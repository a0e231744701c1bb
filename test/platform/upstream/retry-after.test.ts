import { describe, expect, it } from 'vitest';
import { retryAfterMs } from '../../../src/platform/upstream/retry-after.ts';

const NOW = Date.parse('2030-01-02T03:04:05Z');
const HOUR = 3_600_000;
const info = (retryDelay: unknown, type = 'type.googleapis.com/google.rpc.RetryInfo') => ({
  details: [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure' }, { '@type': type, retryDelay }],
});

describe('the wait that a vendor asks for', () => {
  it.each<[string, number | null]>([
    ['0', 0],
    ['7', 7000],
    ['1.5', 1500],
    [' 2 ', 2000],
    ['Wed, 02 Jan 2030 03:04:35 GMT', 30_000],
    ['Wed, 02 Jan 2030 03:00:00 GMT', 0],
    ['86400', HOUR],
    ['Fri, 01 Jan 2100 00:00:00 GMT', HOUR],
    ['-1', null],
    ['1e3', null],
    ['', null],
    ['soon', null],
    ['NaN', null],
    ['Infinity', null],
    ['99999999999999999999', null],
  ])('the wait is read from the header retry-after: %s', (value, ms) => {
    expect(retryAfterMs({ 'retry-after': value }, null, NOW)).toBe(ms);
  });

  it('the header retry-after-ms takes precedence over retry-after', () => {
    expect(retryAfterMs({ 'retry-after-ms': '250', 'retry-after': '9' }, null, NOW)).toBe(250);
    expect(retryAfterMs({ 'retry-after-ms': 'x', 'retry-after': '9' }, null, NOW)).toBe(9000);
  });

  it('the wait is read from the first of several headers', () => {
    expect(retryAfterMs({ 'retry-after': ['3', '9'] }, null, NOW)).toBe(3000);
  });

  it.each<[unknown, number | null]>([
    [info('7s'), 7000],
    [info('0.250s'), 250],
    [info('7'), null],
    [info(7), null],
    [info('7s', 'type.googleapis.com/google.rpc.Help'), null],
    [info('100000s'), HOUR],
    [{ details: 'x' }, null],
    [{ details: [null, 1, []] }, null],
    [null, null],
  ])('the wait is read from RetryInfo in the body: %j', (error, ms) => {
    expect(retryAfterMs({}, error, NOW)).toBe(ms);
  });
});
