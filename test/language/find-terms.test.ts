import { expect, it } from 'vitest';
import { analyse } from '../../src/language/analyser.ts';
import { findTerms } from '../../src/language/find-terms.ts';

it.each([
  ['the bearings of the pump', 'Bearings are greased.', ['bear']],
  ['쿠버네티스 클러스터', '쿠버네티스에서 k8s를 다시 시작합니다.', ['쿠버', '버네', '네티', '티스']],
  ['k8s 오류 AB-1234', 'k8s에서 AB-1234 오류가 납니다.', ['k8s', '오류', 'ab-1234', 'ab', '1234']],
  ['항구', '항구의 시각', ['항구']],
  ['東京', '東京タワー', ['東京']],
  ['anything', '', []],
])('the terms of "%s" that "%s" has are found', (query, text, expected) => {
  expect([...findTerms(text, new Set(analyse(query)))].toSorted()).toEqual(expected.toSorted());
});
