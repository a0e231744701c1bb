import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BooleanQuery, connect, Index, MatchQuery, Occur, type Table } from '@lancedb/lancedb';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { TERM_BYTES_MAX } from '../../src/language/words.ts';
import { SEED } from '../support/random.ts';

describe('analyse', () => {
  it.each([
    ['case, accents and width', 'Ménage ZÜRICH Łódź Straße ﬁne １２３', 'menag zurich lodz strass fine 123'],
    ['stop words', 'The tide is at the harbour, and it’s what they don’t see', 'tide harbour see'],
    ['English endings', 'adopted adoption engines engine’s', 'adopt adopt engin engin'],
    [
      'hyphens and paths',
      'high-speed e-mail docs/intro.md snake_case',
      'high speed email mail doc intro md snake case',
    ],
    ['codes, whole and in parts', 'AB-1234 GPT-4o x86_64', 'ab-1234 ab 1234 gpt-4o gpt 4o x86_64 x86 64'],
    ['versions, decimals, addresses', 'v2.0.1 3.14 10.0.0.1', 'v2.0.1 v2 3.14 10.0.0.1'],
    ['thousands', '1,234,567.89 1,2,3', '1234567.89 1 2 3'],
    ['names with signs', 'C++ C# R&D AT&T U.S.A.', 'c++ c# r&d at&t usa'],
    ['the country is no stop word', 'the US economy', 'us economi'],
    ['Hangul without particles and endings', '학교에서는 사람들에게는 주도하였다', '학교 사람 주도'],
    ['Hangul in pairs', '한국은행', '한국 국은 은행'],
    ['one syllable', '물은 물', '물 물'],
    ['a noun that looks like one with a particle', '휴가', '휴 휴가'],
    ['Korean question words', '임종석이 언제 무엇을', '임종 종석'],
    ['Hangul glued to others', '1989년 KBS는 3만', '1989 년 kbs 3 만'],
    ['long Korean words, in pairs and whole', '데이터베이스는', '데이 이터 터베 베이 이스 데이터베이스'],
    ['Han and kana in pairs and words', '東京タワー 山', '東京 京タ タワ ワー 東京タワー 山'],
    ['Thai in threes and words', 'แมวดำ', 'แมว มวด วดำ แมว ดำ'],
    ['Russian endings', 'Книги в библиотеках, её ёлка', 'книг в библиотек е елк'],
    ['German endings in a German text', 'Die Häuser und der Bahnhof', 'die haus und der bahnhof'],
    ['Spanish endings in a Spanish text', 'las informaciones de la biblioteca', 'las inform de la bibliotec'],
    ['a Spanish word without its accent', 'la informacion de los libros', 'la inform de los libr'],
    ['English endings where no language is seen', 'Häuser Bahnhof', 'hauser bahnhof'],
    ['several scripts in a row', '삼성전자(三星電子) Samsung', '삼성 성전 전자 三星 星電 電子 三星 電子 samsung'],
    ['nothing to find', 'the of and ?!… \u0000 \ud800', ''],
  ])('analyse gives the expected terms: %s', (_, text, terms) => {
    expect(analyse(text).join(' ')).toBe(terms);
  });

  it('decomposed and composed text have the same terms', () => {
    const text = 'Café 한국은행은 ガイド';
    expect(analyse(text.normalize('NFD'))).toEqual(analyse(text.normalize('NFC')));
  });

  it('every string gives terms without white space, short enough for the index, and always the same', () => {
    const words = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
      fc.string({
        unit: fc.constantFrom('가', 'a', '-', '.', ',', "'", '1', '&', '+', '漢', 'é', ' ', '들', '\u0301'),
      }),
    );
    fc.assert(
      fc.property(words, (text) => {
        const terms = analyse(text);
        for (const term of terms) {
          expect(term).toMatch(/^\S+$/u);
          expect(Buffer.byteLength(term)).toBeLessThanOrEqual(TERM_BYTES_MAX);
        }
        expect(analyse(text)).toEqual(terms);
      }),
      { seed: SEED, numRuns: 500 },
    );
  });

  it.each([
    ['one letter', 'a'.repeat(1_000_000), 1],
    ['one Hangul word', '가'.repeat(1_000_000), 999_998],
    ['one Han run', '漢'.repeat(1_000_000), 1_999_999],
    ['hyphens', 'x-'.repeat(500_000), 500_000],
    ['apostrophes', "x'".repeat(500_000), 0],
    ['commas', '1,'.repeat(500_000), 500_000],
    ['dots', '1.'.repeat(500_000), 1],
    ['marks in the wrong order', `x${'\u0301\u0316'.repeat(500_000)}`, 1],
    ['lone surrogates', '\ud800'.repeat(1_000_000), 0],
    ['NUL', '\u0000'.repeat(1_000_000), 0],
  ])('a megabyte of %s is analysed', (_, text, count) => {
    expect(analyse(text)).toHaveLength(count);
  });
});

describe('weighTerms', () => {
  it('distinct terms of a query are grouped by their number of occurrences', () => {
    expect(weighTerms(['b', 'a', 'c', 'a', 'b', 'a'])).toEqual([
      { terms: ['a'], weight: 3 },
      { terms: ['b'], weight: 2 },
      { terms: ['c'], weight: 1 },
    ]);
    expect(weighTerms([])).toEqual([]);
  });

  it('the weight of a term and the number of terms are bounded', () => {
    expect(weighTerms(Array(50).fill('a'))).toEqual([{ terms: ['a'], weight: 8 }]);
    const [group] = weighTerms(Array.from({ length: 5_000 }, (_, i) => `t${i}`));
    expect(group?.terms).toHaveLength(1_024);
  });
});

describe('terms in the index', () => {
  const directory = mkdtempSync(join(tmpdir(), 'analyser-'));
  const texts = [
    'The tide tables list high water at dawn.',
    `Pump AB-1234, firmware v2.0.1; ${'k'.repeat(60)} ${'é'.repeat(40)} ${'ж'.repeat(40)}`,
    '항구의 만조 시각은 새벽입니다. 휴가 신청서는 인사팀에 제출한다.',
    '東京タワーは港区にある。',
  ];
  let table: Table;
  beforeAll(async () => {
    const rows = texts.map((text, row) => ({ row, tokens: analyse(text).join(' ') }));
    table = await (await connect(directory)).createTable('chunks', rows);
    const config = Index.fts({
      baseTokenizer: 'whitespace',
      lowercase: false,
      stem: false,
      removeStopWords: false,
      asciiFolding: false,
    });
    await table.createIndex('tokens', { config });
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  async function find(query: string | MatchQuery | BooleanQuery) {
    const rows = await table
      .query()
      .fullTextSearch(query, { columns: ['tokens'] })
      .select(['row', '_score'])
      .toArray();
    return rows.map((found) => ({ row: Number(found.row), score: found._score as number }));
  }

  it('the index finds a text by each of its terms, even the longest', async () => {
    for (const [row, text] of texts.entries()) {
      for (const term of analyse(text)) expect((await find(term)).map((found) => found.row)).toContain(row);
    }
  });

  it('the weight of a term multiplies its score in the index', async () => {
    const query = weighTerms(analyse('tide tide tide water'));
    const clauses = query.map(({ terms, weight }) => new MatchQuery(terms.join(' '), 'tokens', { boost: weight }));
    const [weighted] = await find(new BooleanQuery(clauses.map((clause) => [Occur.Should, clause])));
    const [tide] = await find('tide');
    const [water] = await find('water');
    expect(weighted?.score).toBeCloseTo(3 * (tide?.score ?? 0) + (water?.score ?? 0), 4);
  });
});
