import { expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { beginningsOfWords, stemEnglish } from '../../src/language/english-stem.ts';
import { termFinder } from '../../src/language/find-terms.ts';
import { randomFrom } from '../index/draw-rows.ts';
import { openPassages } from '../support/real-passages.ts';

it.each([
  ['the bearings of the pump', 'Bearings are greased.', ['bear']],
  ['쿠버네티스 클러스터', '쿠버네티스에서 k8s를 다시 시작합니다.', ['쿠버', '버네', '네티', '티스', '쿠버네티스']],
  ['k8s 오류 AB-1234', 'k8s에서 AB-1234 오류가 납니다.', ['k8s', '오류', 'ab-1234', 'ab', '1234']],
  ['항구', '항구의 시각', ['항구']],
  ['東京', '東京タワー', ['東京']],
  ['anything', '', []],
])('the terms of "%s" that "%s" has are found', (query, text, expected) => {
  expect([...termFinder(new Set(analyse(query)))(text)].toSorted()).toEqual(expected.toSorted());
});

it('the terms of a text are those that its analysis has, whatever its words are joined by', () => {
  const random = randomFrom(11);
  const draw = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const parts =
    'a be dying lying tying die lies skies sky news e mail x ray cats Running runs 10 000 1 v2 ab usa c café 2ème “ Ünder'.split(
      ' ',
    );
  const drawWord = () =>
    Array.from({ length: 1 + Math.floor(random() ** 3 * 4) }, () => draw(parts)).join(draw([...`-'._/,&`, '++', '']));
  const drawText = (words: number) => Array.from({ length: words }, drawWord).join(draw([' ', '. ', '\n', ' # ']));
  let hits = 0;
  for (let nth = 0; nth < 2_000; nth++) {
    const wanted = new Set(analyse(drawText(4)));
    const text = drawText(12);
    const expected = new Set(analyse(text).filter((term) => wanted.has(term)));
    expect(termFinder(wanted)(text), `${[...wanted]} in ${text}`).toEqual(expected);
    hits += expected.size;
  }
  expect(hits).toBeGreaterThan(2_000);
});

it('every word of real texts has a beginning that its stem tells', () => {
  const passages = openPassages(10_000);
  const words = new Set<string>();
  for (let nth = 0; nth < passages.count; nth++)
    for (const word of passages
      .at(nth)
      .toLowerCase()
      .match(/[a-z]+/g) ?? [])
      words.add(word);
  expect(words.size).toBeGreaterThan(5_000);
  const endings = ['s', 'ing', 'ed', 'ly', 'ity', 'ization', 'ational', 'ibility', 'fulness', 'ies', 'ement'];
  for (const word of [...words].flatMap((word) => [word, ...endings.map((ending) => word + ending)])) {
    const stem = stemEnglish(word);
    expect(
      beginningsOfWords(stem).some((beginning) => word.startsWith(beginning)),
      `${word}: ${stem}`,
    ).toBe(true);
  }
});
