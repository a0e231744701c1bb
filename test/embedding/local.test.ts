import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages, LEXICAL_DIMENSIONS } from '../../src/embedding/providers/local.ts';
import { SEED } from '../support/random.ts';

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}

function cosine(a: string, b: string): number {
  return dot(embedLexical([a]), embedLexical([b]));
}

/** Compute the first 16 hex digits of the SHA-256 of the vector's little-endian bytes. */
function digest(vector: Float32Array): string {
  return createHash('sha256').update(new Uint8Array(vector.buffer)).digest('hex').slice(0, 16);
}

describe('golden vectors', () => {
  // These never change: stored vectors of `local/lexical-1` must stay comparable with new ones. A change that alters
  // one of them needs a new model id.
  it.each([
    ['tide', '8f7fb892f55aef1d', 'bd600bcb6fc1a780'],
    ['만조 시각', '1356e23b6aced1a7', '7e3c25f537f62a7d'],
    ['The tide tables of the harbour list high water at dawn.', '41cc4569728bd742', 'f0625e9d40b71592'],
    ['서울특별시 교통정보센터는 2024년 3월부터 실시간 자료를 제공한다.', 'acf047936f928f02', '8a922786cb8df09b'],
    ['東京の地下鉄 AB-1234 v2.0.1', '2398125b65257b48', '2db184ebd0614c32'],
    ['', '8c8bd6508039d38b', 'bb8ea6ed30df436b'],
    ['…!?', '1e4bddca24daf6a4', '6cb943a9c0fd4da4'],
  ])('the golden vectors of %j do not change', (text, query, passage) => {
    expect(digest(embedLexical([text]))).toBe(query);
    expect(digest(embedLexicalPassages([text]))).toBe(passage);
  });

  it('the vector of "tide" has three copies of the word, four 3-grams and three 4-grams', () => {
    const [word, gram3, gram4] = [0.4714045226573944, 0.2357022613286972, 0.20412415266036987];
    const filled = [...embedLexical(['tide'])].flatMap((value, dimension) => (value === 0 ? [] : [[dimension, value]]));
    expect(filled).toEqual([
      [84, gram3],
      [181, word],
      [348, -gram4],
      [459, word],
      [526, -gram3],
      [536, gram4],
      [537, gram3],
      [565, -gram4],
      [599, word],
      [910, -gram4],
    ]);
  });
});

describe('embedLexical', () => {
  it('every text gets a unit vector that does not depend on the other rows', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 4 }), (texts) => {
        for (const embed of [embedLexical, embedLexicalPassages]) {
          const rows = embed(texts);
          expect(rows).toHaveLength(texts.length * LEXICAL_DIMENSIONS);
          texts.forEach((text, row) => {
            const vector = rows.slice(row * LEXICAL_DIMENSIONS, (row + 1) * LEXICAL_DIMENSIONS);
            expect(dot(vector, vector)).toBeCloseTo(1, 5);
            expect(vector).toEqual(embed([text]));
          });
        }
      }),
      { seed: SEED },
    );
  });

  it.each(['', ' \n\t', '?!…', 'the of and', '\u0000\ud800', '🎉🎉'])('the text %j gets a unit vector', (text) => {
    const vector = embedLexical([text]);
    expect(dot(vector, vector)).toBeCloseTo(1, 5);
  });

  it('a text of a megabyte is embedded', () => {
    const vector = embedLexical(['word '.repeat(200_000)]);
    expect(dot(vector, vector)).toBeCloseTo(1, 5);
    expect(embedLexical(['!'.repeat(1_000_000)])).toEqual(embedLexical(['!']));
  });

  it.each([
    ['the same words in other forms', 'The engine of the aircraft', 'aircraft engines', 0.95],
    ['a typing error', 'aerodynamic heating', 'aerodynmic heating', 0.5],
    ['Korean with other particles', '보일러 점검 방법', '보일러를 점검하는 방법은', 0.95],
  ])('texts with %s are close together', (_, a, b, atLeast) => {
    expect(cosine(a, b)).toBeGreaterThan(atLeast);
  });

  it.each([
    ['the engine', 'a violin concerto'],
    ['harbour dues', 'mountain huts'],
    ['보일러 점검', '산악 대피소'],
  ])('the texts %j and %j are far apart', (a, b) => {
    expect(Math.abs(cosine(a, b))).toBeLessThan(0.15);
  });

  it('rare words have more weight than common ones', () => {
    const query = 'a problem of viscosity';
    expect(cosine(query, 'viscosity tables')).toBeGreaterThan(cosine(query, 'problem tables'));
  });
});

describe('embedLexicalPassages', () => {
  it('a passage that answers the query ranks above a short text that shares a word', () => {
    const [query, scrap, passage] = [
      'tide tables of the harbour',
      'Tables',
      'The harbour office prints its tide tables each autumn; pilots keep a copy on board.',
    ];
    const vector = embedLexical([query]);
    const found = (text: string) => dot(vector, embedLexicalPassages([text]));
    expect(found(passage)).toBeGreaterThan(found(scrap));
    expect(found(scrap)).toBeLessThan(cosine(query, scrap));
  });

  it('the correction for short passages changes only the length of the comparable part', () => {
    const text = 'The harbour office prints its tide tables each autumn.';
    const [plain, passage] = [embedLexical([text]), embedLexicalPassages([text])];
    const kept = passage.subarray(0, LEXICAL_DIMENSIONS - 1);
    expect(dot(plain.subarray(0, LEXICAL_DIMENSIONS - 1), kept) / Math.sqrt(dot(kept, kept))).toBeCloseTo(1, 5);
    expect(plain[LEXICAL_DIMENSIONS - 1]).toBe(0);
    expect(passage[LEXICAL_DIMENSIONS - 1]).toBeGreaterThan(0);
  });
});
