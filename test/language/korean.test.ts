import { describe, expect, it } from 'vitest';
import { stemKorean } from '../../src/language/korean.ts';

describe('stemKorean', () => {
  it.each([
    ['학교에서는', '학교'],
    ['사람들에게는', '사람'],
    ['학생으로서', '학생'],
    ['서울로', '서울'],
    ['지명수배되었다', '지명수배'],
    ['발전시켰다', '발전'],
    ['주도하는', '주도'],
    ['회사입니다', '회사'],
    ['물은', '물'],
  ])('the Korean stem of %s is %s', (eojeol, stem) => {
    expect(stemKorean(eojeol)).toEqual([stem]);
  });

  it('a particle is removed only after a sound that allows it', () => {
    // 은 follows a consonant, 는 a vowel; the last syllables of 나이 and 국가 would be particles after the other kind of
    // sound.
    expect(stemKorean('나이')).toEqual(['나이']);
    expect(stemKorean('국가')).toEqual(['국가']);
    expect(stemKorean('책은')).toEqual(['책']);
    expect(stemKorean('배는')).toEqual(['배']);
  });

  it('a word is kept beside its stem if the ending may belong to the word', () => {
    for (const word of ['휴가', '회의', '결과', '종이', '도로']) {
      expect(stemKorean(word)).toEqual([word.slice(0, 1), word]);
    }
    expect(stemKorean('휴가를')).toContain('휴가');
  });

  it('short nouns whose last syllable is also a verb ending are not changed', () => {
    for (const word of ['경기', '토지', '광고', '지도', '불만']) expect(stemKorean(word)).toEqual([word]);
  });

  it('question words, verbs without a noun and particles after a foreign word are dropped', () => {
    for (const word of ['무엇을', '누구인가', '있는', '하였다', '대한']) expect(stemKorean(word)).toEqual([]);
    expect(stemKorean('는', true)).toEqual([]);
    expect(stemKorean('년', true)).toEqual(['년']);
    expect(stemKorean('만', true)).toEqual(['만']);
  });
});
