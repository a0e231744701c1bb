import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AliasSettings, chooseBackends, needsLanguageDetector } from '../../src/embedding/choose-backends.ts';
import { loadLanguageDetector } from '../../src/language/detect-language.ts';
import { SEED } from '../support/random.ts';

const KOREAN = '항만 사무소는 매년 가을에 조석표를 발간한다.';
const ENGLISH = 'The harbour office publishes its tide tables every autumn.';
const FRENCH = 'Le bureau du port publie ses tables de marée chaque automne.';
const JAPANESE = '港湾事務所は毎年秋に潮汐表を発行しています。';

const BY_SCRIPT: AliasSettings = { ko: 'model-ko', default: 'model-x' };
const BY_WORDS: AliasSettings = { ko: 'model-ko', fr: 'model-fr', en: 'model-x', default: 'model-x' };

const always = () => true;
const never = () => false;

describe('chooseBackends', () => {
  beforeAll(loadLanguageDetector);

  it.each([
    ['Korean', KOREAN, 'model-ko'],
    ['a Korean greeting', '안녕', 'model-ko'],
    ['a Korean name of a product', 'Samsung Galaxy 사용 설명서', 'model-ko'],
    ['English', ENGLISH, 'model-x'],
    ['a language without a backend', JAPANESE, 'model-x'],
    ['an English greeting', 'hi', 'model-x'],
    ['a number', '42', 'model-x'],
  ])(
    'one text in %s is sent to the backend of its language, even if backends are not comparable',
    (_, text, modelId) => {
      expect(chooseBackends([text], BY_SCRIPT, never)).toEqual([{ modelId, indexes: [0] }]);
    },
  );

  it('a batch in one language is sent to the backend of the language', () => {
    expect(chooseBackends([KOREAN, KOREAN], BY_SCRIPT, never)).toEqual([{ modelId: 'model-ko', indexes: [0, 1] }]);
    expect(chooseBackends([FRENCH, FRENCH], BY_WORDS, never)).toEqual([{ modelId: 'model-fr', indexes: [0, 1] }]);
  });

  it('a batch in several languages is split over comparable backends', () => {
    const asked: (readonly string[])[] = [];
    const areComparable = (ids: readonly string[]) => {
      asked.push(ids);
      return true;
    };
    expect(chooseBackends([ENGLISH, KOREAN, JAPANESE, KOREAN, FRENCH], BY_WORDS, areComparable)).toEqual([
      { modelId: 'model-x', indexes: [0, 2] },
      { modelId: 'model-ko', indexes: [1, 3] },
      { modelId: 'model-fr', indexes: [4] },
    ]);
    expect(asked).toEqual([['model-x', 'model-ko', 'model-fr']]);
  });

  it('a batch in several languages is sent to the default if the backends are not comparable', () => {
    expect(chooseBackends([KOREAN, ENGLISH, KOREAN], BY_SCRIPT, never)).toEqual([
      { modelId: 'model-x', indexes: [0, 1, 2] },
    ]);
    expect(chooseBackends([KOREAN, FRENCH], BY_WORDS, never)).toEqual([{ modelId: 'model-x', indexes: [0, 1] }]);
  });

  it('the comparability of backends is not checked if all languages have one backend', () => {
    const alias = { ko: 'model-x', ja: 'model-x', default: 'model-x' };
    const refuse = () => {
      throw new Error('asked');
    };
    expect(chooseBackends([KOREAN, ENGLISH, JAPANESE], alias, refuse)).toEqual([
      { modelId: 'model-x', indexes: [0, 1, 2] },
    ]);
    expect(chooseBackends([ENGLISH, JAPANESE], BY_SCRIPT, refuse)).toEqual([{ modelId: 'model-x', indexes: [0, 1] }]);
  });

  it('texts too short for detection get the backend of the rest if backends are not comparable', () => {
    expect(chooseBackends(['ok', KOREAN, '42', 'AB-1234', '😀'], BY_SCRIPT, never)).toEqual([
      { modelId: 'model-ko', indexes: [0, 1, 2, 3, 4] },
    ]);
    expect(chooseBackends(['ok', '42', ''], BY_SCRIPT, never)).toEqual([{ modelId: 'model-x', indexes: [0, 1, 2] }]);
  });

  it('the backend of a text does not depend on its neighbours if backends are comparable', () => {
    const texts = ['ok', KOREAN, '42', FRENCH, 'AB-1234', ENGLISH, '😀'];
    const backendsOf = (batch: readonly string[]) => {
      const groups = chooseBackends(batch, BY_WORDS, always) as { modelId: string; indexes: number[] }[];
      return batch.map((_, at) => groups.find(({ indexes }) => indexes.includes(at))?.modelId);
    };
    const alone = texts.map((text) => backendsOf([text])[0]);
    expect(alone).toEqual(['model-x', 'model-ko', 'model-x', 'model-fr', 'model-x', 'model-x', 'model-x']);
    expect(backendsOf(texts)).toEqual(alone);
    for (const [at, text] of texts.entries()) {
      expect(backendsOf([text, KOREAN])).toEqual([alone[at], 'model-ko']);
      expect(backendsOf([FRENCH, text])).toEqual(['model-fr', alone[at]]);
    }
  });

  it('texts too short for detection get the default if the rest has several backends', () => {
    expect(chooseBackends([KOREAN, 'ok', FRENCH], BY_WORDS, always)).toEqual([
      { modelId: 'model-ko', indexes: [0] },
      { modelId: 'model-x', indexes: [1] },
      { modelId: 'model-fr', indexes: [2] },
    ]);
  });

  it('an empty batch has no groups', () => {
    expect(chooseBackends([], BY_SCRIPT, always)).toEqual([]);
    expect(chooseBackends([], { default: 'model-x' }, always)).toEqual([]);
  });

  it('a language is never confused with a property that every object has', () => {
    const alias: AliasSettings = { ko: 'model-ko', default: 'model-x' };
    const text = fc.constantFrom('constructor', 'toString valueOf constructor prototype', ENGLISH);
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), (texts) => {
        expect(chooseBackends(texts, alias, never)).toMatchObject([{ modelId: 'model-x' }]);
      }),
      { seed: SEED },
    );
  });

  const texts = fc.array(
    fc.oneof(
      fc.constantFrom(KOREAN, ENGLISH, FRENCH, JAPANESE, 'hi', '안녕', '', '42', 'Samsung Galaxy 사용 설명서'),
      fc.string({ unit: 'binary', maxLength: 40 }),
    ),
    { maxLength: 30 },
  );
  const aliases = fc.constantFrom<AliasSettings>(
    BY_SCRIPT,
    BY_WORDS,
    { default: 'model-x' },
    { ja: 'model-ja', ko: 'model-ko', default: 'model-ko' },
  );

  it('every text of a batch is in exactly one group, in order of first appearance', async () => {
    await fc.assert(
      fc.asyncProperty(texts, aliases, fc.boolean(), async (batch, alias, comparable) => {
        const groups = await chooseBackends(batch, alias, () => comparable);
        const placed = groups.flatMap(({ indexes }) => indexes);
        expect(placed.toSorted((a, b) => a - b)).toEqual(batch.map((_, index) => index));
        for (const { indexes } of groups) expect(indexes).toEqual(indexes.toSorted((a, b) => a - b));
        const firsts = groups.map(({ indexes }) => indexes[0] as number);
        expect(firsts).toEqual(firsts.toSorted((a, b) => a - b));
        expect(new Set(groups.map(({ modelId }) => modelId)).size).toBe(groups.length);
        for (const { modelId } of groups) expect(Object.values(alias)).toContain(modelId);
        if (!comparable) expect(groups.length).toBeLessThanOrEqual(1);
      }),
      { seed: SEED },
    );
  });

  it('a text with a clear language gets the same backend alone and in any batch that is split', async () => {
    await fc.assert(
      fc.asyncProperty(texts, async (batch) => {
        const groups = await chooseBackends([KOREAN, ...batch, FRENCH], BY_WORDS, always);
        for (const { modelId, indexes } of groups) {
          for (const index of indexes) {
            const text = [KOREAN, ...batch, FRENCH][index] as string;
            const [alone] = await chooseBackends([text], BY_WORDS, always);
            expect(alone?.modelId).toBe(modelId);
          }
        }
      }),
      { seed: SEED },
    );
  });
});

describe('needsLanguageDetector', () => {
  it('the language detector is needed only for a backend of a language that shares its script', () => {
    expect(needsLanguageDetector({ default: 'x' })).toBe(false);
    expect(needsLanguageDetector({ ko: 'a', ja: 'b', zh: 'c', default: 'x' })).toBe(false);
    expect(needsLanguageDetector({ ko: 'a', fr: 'b', default: 'x' })).toBe(true);
  });
});
