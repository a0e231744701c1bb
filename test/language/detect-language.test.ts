import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { detectByScript, detectLanguage, loadLanguageDetector } from '../../src/language/detect-language.ts';
import { SCRIPT_LANGUAGES } from '../../src/language/scripts.ts';
import { paragraphs } from '../models/varied-texts.ts';
import { SEED } from '../support/random.ts';

describe('detectLanguage before its detector is loaded', () => {
  it('detection is synchronous by script, and asynchronous by words until the detector is loaded', async () => {
    // Other tests of this process may have loaded that of the module itself.
    const unloaded = new URL('../../src/language/detect-language.ts?unloaded', import.meta.url).href;
    const own: typeof import('../../src/language/detect-language.ts') = await import(unloaded);
    expect(own.detectLanguage('조석표를 발간한다')).toEqual({ language: 'ko', reliable: true });
    const later = own.detectLanguage('The harbour office publishes its tide tables every autumn.');
    expect(later).toBeInstanceOf(Promise);
    expect(await later).toEqual({ language: 'en', reliable: true });
  });
});

describe('detectLanguage', () => {
  beforeAll(loadLanguageDetector);

  it.each([
    ['안녕', 'ko'],
    ['네', 'ko'],
    ['ㅋㅋ', 'ko'],
    ['한국어'.normalize('NFD'), 'ko'],
    ['Samsung Galaxy 사용 설명서', 'ko'],
    ['iPhone 15 Pro Max 케이스', 'ko'],
    ['이 API는 OpenAI 호환 형식으로 요청을 받습니다', 'ko'],
    ['大韓民國憲法 제1조', 'ko'],
    ['東京タワーに行きました', 'ja'],
    ['ケース', 'ja'],
    ['北京大学位于中国北京', 'zh'],
    ['สวัสดี', 'th'],
    ['שלום עולם', 'he'],
    ['Ελληνικά κείμενα', 'el'],
    ['Please ask 김민수 about the quarterly report before Friday.', 'en'],
    ['The harbour office publishes its tide tables every autumn.', 'en'],
    ['Le bureau du port publie ses tables de marée chaque automne.', 'fr'],
    ['Das Hafenamt veröffentlicht seine Gezeitentafeln jeden Herbst.', 'de'],
    ['Управление порта публикует таблицы приливов каждую осень.', 'ru'],
    ['ينشر مكتب الميناء جداول المد والجزر كل خريف', 'ar'],
    ['Cảng vụ công bố bảng thủy triều vào mỗi mùa thu', 'vi'],
  ])('the language of %j is %s', (text, language) => {
    expect(detectLanguage(text)).toEqual({ language, reliable: true });
  });

  it.each([
    '',
    ' ',
    '123',
    '😀👍',
    '...',
    '\ud800',
    'hi',
    'ok',
    'a',
    'AB-1234 XK-22',
    'https://example.com/a/b?c=d',
    'x@y.org',
  ])('the language of %j is not detected', (text) => {
    expect(detectLanguage(text)).toEqual({ language: null, reliable: false });
  });

  it.each(['reset password', 'I met 김민수 today', 'привет', 'WiFi 6E router', '東京', 'α', 'x = α + β'])(
    'the detection of %j is not reliable',
    (text) => {
      expect(detectLanguage(text)).toMatchObject({ reliable: false });
    },
  );

  it('only the beginning and the middle of a long text are read', () => {
    const [english = ''] = paragraphs('English prose', 1, 1);
    const [korean = ''] = paragraphs('Korean prose', 1, 1);
    const mostlyKorean = korean.repeat(40);
    expect(detectLanguage(`${mostlyKorean}${english.repeat(2)}`)).toMatchObject({ language: 'ko' });
    // A short notice before a long text does not determine its language.
    expect(detectLanguage(`${english.slice(0, 200)} ${mostlyKorean}`)).toMatchObject({ language: 'ko' });
    expect(detectLanguage(english.repeat(40))).toEqual({ language: 'en', reliable: true });
  });

  it.each(['English prose', 'English news'])('the language of %s is English', (register) => {
    for (const text of paragraphs(register, 30, 5))
      expect(detectLanguage(text)).toEqual({ language: 'en', reliable: true });
  });

  it('lists of dates and names are English or, in a few cases, not detected, and never of another language', () => {
    const found = paragraphs('English list of dates and names', 200, 5).map((text) => detectLanguage(text));
    const sure = found.filter((each) => isDeepStrictEqual(each, { language: 'en', reliable: true }));
    expect(sure.length).toBeGreaterThanOrEqual(190);
    for (const each of found) expect(each).toMatchObject(sure.includes(each) ? {} : { reliable: false });
  });

  it.each(['Korean prose', 'Korean news', 'Korean office', 'Korean table', 'Korean and English mixed'])(
    '%s is Korean',
    (register) => {
      for (const text of paragraphs(register, 30, 5)) {
        expect(detectLanguage(text)).toEqual({ language: 'ko', reliable: true });
      }
    },
  );

  it('every string is accepted and always gives the same result', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        const detection = detectLanguage(text);
        expect(detection).toEqual(detectLanguage(text));
        if (!(detection instanceof Promise) && detection.language !== null) {
          expect(detection.language).toMatch(/^[a-z]{2}$/);
        }
      }),
      { seed: SEED },
    );
  });

  it('only a small part of a huge text is read', () => {
    for (const unit of ['a', 'ab ', ' ', '가', 'a.b@', '\ud800', "'"]) {
      expect(detectLanguage(unit.repeat(2_000_000))).toBeDefined();
    }
  });
});

describe('detectByScript', () => {
  it('detectByScript agrees with detectLanguage on every language that a script determines', () => {
    for (const text of ['안녕', 'Samsung Galaxy 사용 설명서', '東京', 'ケース', 'สวัสดี', '', '123']) {
      expect(detectByScript(text)).toEqual(detectLanguage(text));
    }
  });

  it('detectByScript detects no language in a shared script, and is reliable from 4 words on', () => {
    expect(detectByScript('hello there')).toEqual({ language: null, reliable: false });
    expect(detectByScript('The harbour office publishes tables')).toEqual({ language: null, reliable: true });
    expect(detectByScript('Управление порта публикует таблицы')).toEqual({ language: null, reliable: true });
    expect(detectByScript('AB-1234 XK-22 Z9 Q7 R2D2')).toEqual({ language: null, reliable: false });
  });

  it('detectByScript detects only languages with a script of their own', () => {
    expect([...SCRIPT_LANGUAGES]).toEqual(expect.arrayContaining(['ko', 'ja', 'zh', 'th', 'el', 'he']));
    for (const shared of ['en', 'fr', 'ru', 'ar', 'hi']) expect(SCRIPT_LANGUAGES.has(shared)).toBe(false);
  });
});
