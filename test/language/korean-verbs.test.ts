import { describe, expect, it } from 'vitest';
import { findVerbForms } from '../../src/language/verb-terms.ts';
import { termsOf } from '../../src/language/words.ts';

/** Return the terms of a text that a query looks for. */
function sharedTerms(query: string, text: string): string[] {
  const wanted = new Set([...termsOf(query), ...findVerbForms(query).flatMap(({ others }) => others.flat())]);
  return termsOf(text).filter((term) => wanted.has(term));
}

/** Dictionary forms with inflected forms, by the class of the verb. */
const VERBS: readonly [verbs: string, dictionaryForm: string, forms: string][] = [
  ['regular verbs in a vowel', '마시다', '마셨다 마셔요 마신다 마십니다 마실 마시고'],
  ['regular verbs in a vowel', '옮기다', '옮겼다 옮겨서 옮긴 옮깁니다'],
  ['regular verbs in a vowel', '끊기다', '끊겼습니다 끊겨 끊긴 끊기면'],
  ['regular verbs in a vowel', '배우다', '배웠다 배워서 배운 배웁니다'],
  ['regular verbs in a vowel', '들어오다', '들어왔다 들어온다 들어옵니다'],
  ['regular verbs in a vowel', '보내다', '보냈습니다 보내서 보낸'],
  ['regular verbs of one syllable', '가다', '갔다 갔습니다 간다 갑니다 가서 가는 가면'],
  ['regular verbs of one syllable', '오다', '왔다 왔지만 온다 옵니다 와서'],
  ['regular verbs of one syllable', '보다', '봤다 보았다 본다 봅니다'],
  ['regular verbs of one syllable', '주다', '줬다 주었다 준다 줘서'],
  ['regular verbs of one syllable', '켜다', '켰다 켠다 켜서'],
  ['regular verbs of one syllable', '되다', '됐다 된다 됩니다 돼서'],
  ['regular verbs in a consonant', '먹다', '먹었다 먹는다 먹습니다 먹어서 먹고'],
  ['regular verbs in a consonant', '받다', '받았다 받는 받아요'],
  ['regular verbs in a consonant', '웃다', '웃었다 웃는다'],
  ['regular verbs in a consonant', '입다', '입었다 입어요'],
  ['regular verbs in a consonant', '놓다', '놓았다 놓아서'],
  ['ㅡ falls', '쓰다', '썼다 쓴다 씁니다 써서'],
  ['ㅡ falls', '바쁘다', '바빴다 바빠서 바쁜'],
  ['ㅡ falls', '모으다', '모았다 모아서 모읍니다'],
  ['르 doubles its ㄹ', '모르다', '몰랐다 몰라요 모릅니다'],
  ['르 doubles its ㄹ', '흐르다', '흘렀다 흘러서 흐른다'],
  ['르 doubles its ㄹ', '서두르다', '서둘렀다 서둘러'],
  ['르 takes 러', '푸르다', '푸르렀다 푸르러 푸른'],
  ['ㄷ becomes ㄹ', '듣다', '들었다 들어서 듣는다'],
  ['ㄷ becomes ㄹ', '깨닫다', '깨달았다 깨달은'],
  ['ㅂ becomes 우 or 오', '돕다', '도왔다 도와서 도운 돕습니다'],
  ['ㅂ becomes 우 or 오', '눕다', '누웠다 누워서'],
  ['ㅂ becomes 우 or 오', '아름답다', '아름다웠다 아름다운 아름다워요'],
  ['ㅅ falls', '짓다', '지었다 지어서 짓는'],
  ['ㅅ falls', '낫다', '나았다 나아서'],
  ['ㅎ falls', '빨갛다', '빨개요 빨갰다 빨간'],
  ['ㅎ falls', '그렇다', '그래서 그랬다 그런데'],
  ['ㄹ falls', '만들다', '만듭니다 만드는 만든 만들었다'],
  ['ㄹ falls', '불다', '분다 불었다 불어서'],
  ['하다 takes 여', '하다', '했다 해서 합니다 하였습니다'],
  ['하다 takes 여', '공부하다', '공부했다 공부하였다 공부합니다'],
  ['nouns in ㅁ', '끊김', '끊겼습니다 끊겨서'],
  ['nouns in ㅁ', '느려짐', '느려졌습니다 느려져'],
];

describe.each(VERBS)('%s: %s', (_class, dictionaryForm, forms) => {
  it.each(forms.split(' '))('finds %s', (form) => {
    expect(sharedTerms(dictionaryForm, form), termsOf(form).join(' ')).not.toEqual([]);
  });
});

it.each(
  '바다 사이다 소다 수다 캐나다 베란다 아젠다 우간다 르완다 람다 마쓰다 밤바다 최다 과다 학교보다 날마다'.split(' '),
)('%s is a noun, and no verb', (noun) => expect(findVerbForms(noun)).toEqual([]));

it.each('갔다 마셨다 간다 마신다 판다 있다 한다 먹었다 사람 시스템 휴가 회의 방콕'.split(' '))(
  '%s is not in the dictionary form',
  (word) => expect(findVerbForms(word)).toEqual([]),
);

it.each([
  ['받다', '발아'],
  ['입다', '이워'],
  ['웃다', '우어'],
  ['좋다', '조아'],
  ['따르다', '딸라'],
])('a regular verb does not take the forms of an irregular one: %s, %s', (dictionaryForm, form) => {
  expect(sharedTerms(dictionaryForm, form)).toEqual([]);
});

it('forms that are often nouns weigh less', () => {
  const [clear, doubtful] = findVerbForms('가다');
  expect(clear).toMatchObject({ phrase: ['가다'], share: 1 });
  expect(clear?.others.flat()).not.toContain('가면');
  expect(doubtful?.others.flat()).toEqual(expect.arrayContaining(['가면', '가지', '감']));
  expect(doubtful?.share).toBeLessThan(1);
});

it('at most four verbs of a query are conjugated', () => {
  const phrases = findVerbForms('마시다 옮기다 배우다 보내다 고치다').map(({ phrase }) => phrase[0]);
  expect(phrases).toEqual(['마시', '옮기', '배우', '보내']);
});
