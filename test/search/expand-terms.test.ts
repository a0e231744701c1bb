import { expect, it } from 'vitest';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { compileSynonyms, expandTerms, findAlternatives } from '../../src/search/synonyms/expand-terms.ts';
import { SynonymsEdit } from '../../src/search/synonyms/schema.ts';

const GROUPS = [
  ['k8s', 'kubernetes', '쿠버네티스'],
  ['AI', 'artificial intelligence'],
];

const expand = (query: string, groups: readonly (readonly string[])[] = GROUPS) => {
  const sequence = analyse(query);
  return expandTerms(weighTerms(sequence), findAlternatives(sequence, compileSynonyms(groups)));
};
const weightsOf = (query: string, groups?: readonly (readonly string[])[]) =>
  Object.fromEntries((expand(query, groups) ?? []).flatMap(({ terms, weight }) => terms.map((term) => [term, weight])));

it('a word of a query brings its synonyms, whose words weigh together as much as it', () => {
  expect(weightsOf('k8s errors')).toEqual({
    ...{ k8s: 1, error: 1, kubernet: 1 },
    ...{ 쿠버: 0.2, 버네: 0.2, 네티: 0.2, 티스: 0.2, 쿠버네티스: 0.2 },
  });
  expect(weightsOf('쿠버네티스에서')).toMatchObject({ k8s: 5, kubernet: 5 });
  expect(weightsOf('ai models')).toMatchObject({ artifici: 0.5, intellig: 0.5 });
});

it('a phrase brings its synonyms only where its words follow one another', () => {
  expect(weightsOf('artificial intelligence at work')).toMatchObject({ ai: 2, artifici: 1 });
  expect(expand('intelligence that is not artificial')).toBeNull();
  expect(expand('bearings')).toBeNull();
});

it('a synonym that the query has already keeps its weight', () => {
  expect(weightsOf('kubernetes kubernetes k8s')).toMatchObject({ kubernet: 2, k8s: 1 });
});

it('at most 64 terms are added to a query', () => {
  const words = (group: number) => Array.from({ length: 20 }, (_, nth) => `word${group}x${nth}y`);
  const groups = Array.from({ length: 10 }, (_, group) => words(group));
  const expanded = expand(groups.map(([first]) => first).join(' '), groups) ?? [];
  expect(expanded.flatMap(({ terms }) => terms)).toHaveLength(10 + 64);
});

it.each([
  ['a group of one word', [['k8s']], 'at least two'],
  ['a word that no search looks for', [['IT', 'information technology']], '"IT" has no word'],
  ['two forms of one word', [['harbour', 'harbours']], 'two forms of one word'],
  ['an empty word', [['a1', ' ']], 'must not be empty'],
  ['a word of 101 characters', [['a1', 'x'.repeat(101)]], '100'],
  ['a group of 21 words', [Array.from({ length: 21 }, (_, nth) => `word${nth}x`)], '20'],
  ['1,001 groups', Array.from({ length: 1_001 }, (_, nth) => [`a${nth}x`, `b${nth}x`]), '1000'],
  ['5,001 words', Array.from({ length: 556 }, (_, at) => Array.from({ length: 9 }, (_, n) => `w${at}x${n}`)), '5000'],
])('%s is refused', (_name, groups, message) => {
  const parsed = SynonymsEdit.safeParse({ groups });
  expect(parsed.success).toBe(false);
  expect(parsed.error?.issues.map((issue) => issue.message).join()).toContain(message);
});
