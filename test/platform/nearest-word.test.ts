import { expect, test } from 'vitest';
import { findNearest } from '../../src/platform/nearest-word.ts';

test.each([
  ['jobs lst', ['jobs list', 'jobs show', 'keys list'], 'jobs list'],
  ['buckt', ['bucket', 'org', 'yes'], 'bucket'],
  ['bucket', ['org', 'bucket'], 'bucket'],
  ['frobnicate', ['bucket', 'org', 'yes'], null],
  ['x', [], null],
  ['x', ['id', 'q'], null],
  ['ab', ['a', 'abc', 'ba'], 'abc'],
  ['is', ['id', 'if'], null],
  ['bka', ['abc', 'bkt'], 'bkt'],
  ['sleect', ['UPDATE', 'SELECT'], 'SELECT'],
  ['a'.repeat(65), ['a'.repeat(65)], null],
])('the candidate nearest to "%s" among %j is %j', (word, candidates, nearest) => {
  expect(findNearest(word, candidates)).toBe(nearest);
});
