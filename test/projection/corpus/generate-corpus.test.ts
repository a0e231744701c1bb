import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { corpusData } from '../../../src/projection/corpus/corpus-data.ts';
import { CORPUS_TEXTS, type CorpusText, generateCorpus } from '../../../src/projection/corpus/generate-corpus.ts';
import { checkCorpus } from '../../../src/projection/fit/check-pairs.ts';

const corpus = generateCorpus();
const { domains } = corpusData();
const wordsOf = (text: string) => text.split(/\s+/);
const shareOf = (test: (entry: CorpusText) => boolean) => corpus.filter(test).length / corpus.length;

describe('generateCorpus', () => {
  /**
   * The texts are an input of the canonical space. If a change of words or templates is intended, write the new hash
   * here: new spaces are then created from other texts than old ones.
   */
  it('the corpus has the same texts on every machine and in every version', () => {
    const hash = createHash('sha256').update(JSON.stringify(corpus)).digest('hex');
    expect(hash).toBe('b970afb9c8629e9cac3c159f930b5b075b90b6f8902685487099358118e8470b');
    expect(generateCorpus(1)).toEqual(corpus);
  });

  it('another seed gives other texts', () => {
    const texts = new Set(corpus.map((entry) => entry.text));
    const common = generateCorpus(2).filter((entry) => texts.has(entry.text)).length;
    expect(common).toBeLessThan(CORPUS_TEXTS * 0.05);
  });

  it('the corpus has 6,000 distinct texts', () => {
    expect(corpus).toHaveLength(6000);
    expect(checkCorpus(corpus.map((entry) => entry.text))).toMatchObject({ duplicates: 0 });
  });

  it('the corpus is half English and half Korean, with one text in twenty in both', () => {
    expect(shareOf((entry) => entry.language === 'en')).toBeCloseTo(0.5, 1);
    expect(shareOf((entry) => entry.language === 'ko')).toBeCloseTo(0.5, 1);
    const mixed = shareOf(({ text }) => /\p{sc=Hangul}/u.test(text) && /[a-z]{3}/i.test(text.replace(/\S+@\S+/g, '')));
    expect(mixed).toBeGreaterThan(0.03);
    expect(mixed).toBeLessThan(0.08);
    expect(corpus.every(({ text, language }) => language === 'en' || /\p{sc=Hangul}/u.test(text))).toBe(true);
  });

  it('the corpus has all domains in equal parts in both languages', () => {
    expect(domains.length).toBeGreaterThanOrEqual(20);
    for (const language of ['en', 'ko']) {
      for (const { name } of domains) {
        const share = shareOf((entry) => entry.domain === name && entry.language === language);
        expect(share * 2 * domains.length, `${name} in ${language}`).toBeGreaterThan(0.75);
        expect(share * 2 * domains.length, `${name} in ${language}`).toBeLessThan(1.25);
      }
    }
  });

  it('queries and passages are each at least two fifths of the corpus', () => {
    expect(shareOf((entry) => entry.kind === 'query')).toBeGreaterThan(0.4);
    expect(shareOf((entry) => entry.kind === 'passage')).toBeGreaterThan(0.4);
  });

  it('texts of the corpus have 3 to 60 words, and most are short', () => {
    const lengths = corpus.map((entry) => wordsOf(entry.text).length).toSorted((a, b) => a - b);
    const quantile = (share: number) => lengths[Math.floor(share * (lengths.length - 1))];
    expect(quantile(0)).toBeGreaterThanOrEqual(3);
    expect(quantile(1)).toBeLessThanOrEqual(60);
    expect(quantile(0.5)).toBeGreaterThanOrEqual(7);
    expect(quantile(0.5)).toBeLessThanOrEqual(12);
    expect(quantile(0.97)).toBeGreaterThan(25);
    expect(Math.max(...corpus.map((entry) => entry.text.length))).toBeLessThanOrEqual(512);
  });

  it('the corpus uses thousands of different words in each language', () => {
    for (const [language, pattern, distinctMin] of [
      ['en', /[a-z]{2,}/g, 5500],
      ['ko', /\p{sc=Hangul}{2,}/gu, 8000],
    ] as const) {
      const words = corpus
        .filter((entry) => entry.language === language)
        .flatMap((entry) => entry.text.toLowerCase().match(pattern) ?? []);
      expect(new Set(words).size, language).toBeGreaterThan(distinctMin);
      expect(new Set(words).size / words.length, `${language}, share of types in tokens`).toBeGreaterThan(0.12);
    }
  });

  it('the corpus uses nearly every word of its lists', () => {
    const all = corpus.map((entry) => entry.text.toLowerCase()).join('\n');
    for (const { name, en, ko } of domains) {
      const things = [...en.thing, ...en.topic, ...ko.thing, ...ko.topic];
      const missing = things.filter((thing) => !all.includes(thing.toLowerCase()));
      expect(missing.length / things.length, `${name}: ${missing.join(', ')}`).toBeLessThan(0.1);
    }
  });

  it('no more than one text in fifty has the same beginning', () => {
    const openings = new Map<string, number>();
    for (const { text } of corpus) {
      const opening = wordsOf(text).slice(0, 3).join(' ');
      openings.set(opening, (openings.get(opening) ?? 0) + 1);
    }
    expect(Math.max(...openings.values())).toBeLessThan(corpus.length / 50);
  });

  it('no text contains a slot, a marker or a broken form', () => {
    for (const { text } of corpus) {
      expect(text).not.toMatch(/\{[\p{L}#-]+(?:\.[\p{L}]+)*\}|\p{Cc}(?<!\n)|undefined|↵|\|\||q>/u);
      expect(text).not.toMatch(/[ㄱ-ㅣ]/u);
      expect(text).not.toMatch(/\b(?:a [aeio]|an [bcdfgjkpqstvwz])[a-z]/);
      expect(text).toBe(text.trim().normalize('NFC'));
    }
  });

  it('every word of the Korean lists gets the right particle', () => {
    const particles = [
      ['은', '는'],
      ['을', '를'],
      ['과', '와'],
      ['이란', '란'],
      ['으로', '로'],
    ] as const;
    const eojeols = new Set(corpus.flatMap(({ text, language }) => (language === 'ko' ? wordsOf(text) : [])));
    const wrong: string[] = [];
    let right = 0;
    for (const { ko } of domains) {
      for (const noun of [...ko.thing, ...ko.topic, ...ko.who]) {
        const last = wordsOf(noun).at(-1) ?? '';
        const final = last.normalize('NFD').at(-1) ?? '';
        const consonant = final >= '\u11a8' && final <= '\u11c2';
        for (const [afterConsonant, afterVowel] of particles) {
          const vowelLike = !consonant || (afterConsonant === '으로' && final === '\u11af');
          const [wanted, other] = vowelLike ? [afterVowel, afterConsonant] : [afterConsonant, afterVowel];
          if (eojeols.has(last + wanted)) right++;
          if (eojeols.has(last + other)) wrong.push(last + other);
        }
      }
    }
    expect(wrong).toEqual([]);
    expect(right).toBeGreaterThan(1000);
  });
});
