import { expect, test } from 'vitest';
import { RecentCounts } from '../../src/models/recent-counts.ts';

/** Count all words of a text by their length, and return the words that had to be counted. */
function countedIn(counts: RecentCounts, words: readonly string[]): string[] {
  const text = words.join('');
  const counted: string[] = [];
  let at = 0;
  for (const word of words) {
    const found = counts.countOf(text, at, at + word.length, (pretoken) => {
      counted.push(pretoken);
      return pretoken.length;
    });
    expect(found).toBe(word.length);
    at += word.length;
  }
  return counted;
}

test('a short pre-token is counted once, and a long one each time', () => {
  const counts = new RecentCounts();
  expect(countedIn(counts, ['the', ' ferry', 'the', ' 항구에서', ' ferry', ' 항구에서'])).toEqual([
    'the',
    ' ferry',
    ' 항구에서',
  ]);
  const long = ' internationalisation';
  expect(countedIn(counts, [long, 'the', long])).toEqual([long, long]);
});

test('pre-tokens that share a slot have their own counts', () => {
  const counts = new RecentCounts();
  const words = Array.from({ length: 50_000 }, (_, n) => `w${n.toString(36).padEnd(1 + (n % 6), 'x')}`);
  expect(countedIn(counts, words).length).toBeGreaterThan(40_000);
  countedIn(counts, words);
});
