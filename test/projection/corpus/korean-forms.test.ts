import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  adjectiveForm,
  finalOf,
  PARTICLE_NAMES,
  particleAfter,
  verbForm,
} from '../../../src/projection/corpus/korean-forms.ts';
import { SEED } from '../../support/random.ts';

describe('particleAfter', () => {
  it.each([
    ['사과', '은', '는'],
    ['책', '은', '은'],
    ['친구', '이', '가'],
    ['물', '이', '이'],
    ['커피', '을', '를'],
    ['밥', '과', '과'],
    ['서울', '으로', '로'],
    ['집', '으로', '으로'],
    ['학교', '으로', '로'],
    ['11', '을', '을'],
    ['2', '을', '를'],
    ['3', '으로', '으로'],
    ['8', '으로', '로'],
    ['10', '이', '이'],
    ['37%', '이', '가'],
    ['API', '을', '를'],
    ['URL', '은', '은'],
    ['"파일"', '이', '이'],
    ['컵(유리)', '을', '를'],
    ['민준', '아', '아'],
    ['지우', '아', '야'],
  ])('the word %s takes the particle %s as %s', (word, name, expected) => {
    expect(particleAfter(word, name)).toBe(expected);
  });

  it('particles follow the final consonant of any syllable, as Unicode decomposes it', () => {
    const syllable = fc.integer({ min: 0xac00, max: 0xd7a3 }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(fc.string(), syllable, fc.constantFrom(...PARTICLE_NAMES), (before, last, name) => {
        const final = last.normalize('NFD').charAt(2);
        const form = particleAfter(before + last, name);
        const vowelLike = final === '' || (name === '으로' && final === '\u11af');
        expect(form === name).toBe(!vowelLike);
        expect(finalOf(before + last) === 0).toBe(final === '');
      }),
      { seed: SEED },
    );
  });
});

describe('verbForm', () => {
  it.each([
    [
      '여권을 갱신',
      '는다 는 ㄴ ㄹ 었다 면 습니다 어요',
      '갱신한다 갱신하는 갱신한 갱신할 갱신했다 갱신하면 갱신합니다 갱신해요',
    ],
    ['밥을 먹/먹어', '는다 는 ㄴ ㄹ 었다 면 습니다 려고', '먹는다 먹는 먹은 먹을 먹었다 먹으면 먹습니다 먹으려고'],
    [
      '집을 만들/만들어',
      '는다 는 ㄴ ㄹ 었다 면 습니다 느니',
      '만든다 만드는 만든 만들 만들었다 만들면 만듭니다 만드느니',
    ],
    ['고기를 굽/구워', '는다 는 ㄴ ㄹ 었다 면 습니다 야', '굽는다 굽는 구운 구울 구웠다 구우면 굽습니다 구워야'],
    ['길을 걷/걸어', '는다 는 ㄴ ㄹ 었다 면 습니다 도', '걷는다 걷는 걸은 걸을 걸었다 걸으면 걷습니다 걸어도'],
    ['집을 짓/지어', '는다 는 ㄴ ㄹ 었다 면 지', '짓는다 짓는 지은 지을 지었다 지으면 짓지'],
    ['머리를 자르/잘라', '는다 는 ㄴ ㄹ 었다 면 어서', '자른다 자르는 자른 자를 잘랐다 자르면 잘라서'],
    ['옷을 벗/벗어', '는다 ㄴ ㄹ 면', '벗는다 벗은 벗을 벗으면'],
  ])('the verb %s has the expected forms: %s', (entry, endings, expected) => {
    expect(
      endings
        .split(' ')
        .map((ending) => verbForm(entry, ending).split(' ').at(-1))
        .join(' '),
    ).toBe(expected);
  });

  it('an unknown verb ending is refused', () => {
    expect(() => verbForm('밥을 먹/먹어', '더라')).toThrow(RangeError);
  });
});

describe('adjectiveForm', () => {
  it.each([
    ['편리', 'ㄴ 다 었다 ㄴ가요 ㅁ 어요', '편리한 편리하다 편리했다 편리한가요 편리함 편리해요'],
    ['가깝/가까워', 'ㄴ 다 었다 ㄴ가요 ㅁ 면', '가까운 가깝다 가까웠다 가까운가요 가까움 가까우면'],
    ['멀/멀어', 'ㄴ 다 었다 네요 ㅁ ㄹ', '먼 멀다 멀었다 머네요 멂 멀'],
    ['작/작아', 'ㄴ 다 었다 네요 습니다', '작은 작다 작았다 작네요 작습니다'],
    ['맛있/맛있어', 'ㄴ ㄴ가요 었다', '맛있는 맛있나요 맛있었다'],
    ['만성적이/만성적이어', 'ㄴ 었다 어요 습니다', '만성적인 만성적이었다 만성적이에요 만성적입니다'],
    ['무효이/무효여', 'ㄴ 었다 어요', '무효인 무효였다 무효예요'],
    ['좁/좁아', 'ㄴ 면 ㅁ', '좁은 좁으면 좁음'],
  ])('the adjective %s has the expected forms: %s', (entry, endings, expected) => {
    expect(
      endings
        .split(' ')
        .map((ending) => adjectiveForm(entry, ending))
        .join(' '),
    ).toBe(expected);
  });
});
