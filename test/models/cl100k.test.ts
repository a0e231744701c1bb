import fc from 'fast-check';
import { countTokens as countByLibrary } from 'gpt-tokenizer/encoding/cl100k_base';
import { beforeAll, describe, expect, it } from 'vitest';
import { CL100K_TOKEN_BYTES_MAX, loadCl100k } from '../../src/models/cl100k.ts';
import type { CountText } from '../../src/models/tokens.ts';
import { SEED } from '../support/random.ts';
import { paragraphs, REGISTER_NAMES } from './varied-texts.ts';

let countText: CountText;
const count = (text: string) => countText(text, Number.POSITIVE_INFINITY);
/** Count by another implementation, which is quadratic in the length of a word. */
const reference = (text: string) => countByLibrary(text, { disallowedSpecial: new Set() });

beforeAll(async () => {
  countText = await loadCl100k();
});

describe('cl100k', () => {
  it('cl100k counts are equal to published examples', () => {
    expect(count('')).toBe(0);
    expect(count('tiktoken is great!')).toBe(6);
    expect(count('antidisestablishmentarianism')).toBe(6);
    expect(count('お誕生日おめでとう')).toBe(9);
    expect(count('2 + 2 = 4')).toBe(7);
  });

  it.each(REGISTER_NAMES)('cl100k counts agree with another implementation on %s', (register) => {
    for (const text of paragraphs(register, 20, 3)) expect(count(text)).toBe(reference(text));
  });

  it('cl100k counts agree with another implementation on any text', () => {
    const fragment = fc.oneof(
      fc.constantFrom(
        'a',
        ' ',
        '  ',
        '\n',
        '\r\n',
        '\t',
        "'s",
        "'LL",
        "'",
        '1',
        '12345',
        '...',
        '한국어',
        'の',
        '漢字',
        '😀',
      ),
      fc.constantFrom(
        '<|endoftext|>',
        '<|fim_prefix|>',
        'é',
        'e\u0301',
        '½',
        '𝔘𝔫',
        '\u00a0',
        '\u3000',
        '\u200b',
        'ـ',
        '٣',
      ),
      fc.string({ unit: 'binary', maxLength: 12 }),
      fc.string({ unit: 'grapheme', maxLength: 12 }),
    );
    // The implementations differ on U+0085 and U+FEFF as white space; Unicode's property is used here.
    const text = fc.array(fragment, { maxLength: 60 }).map((parts) => parts.join('').replace(/[\u0085\ufeff]/g, ''));
    fc.assert(
      fc.property(text, (any) => {
        expect(count(any)).toBe(reference(any));
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it.each(['ab', 'aaaa', '가나다', '😀', '=-', '  ', '0'])(
    'cl100k counts agree on runs of %j of any length, by scan and by heap',
    (unit) => {
      for (const times of [1, 2, 3, 9, 31, 32, 33, 64, 65, 100, 333]) {
        expect(count(unit.repeat(times))).toBe(reference(unit.repeat(times)));
      }
    },
  );

  it('cl100k counts agree on long words of random letters', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'etaoinshr'), minLength: 60, maxLength: 400 }), (word) => {
        expect(count(word)).toBe(reference(word));
      }),
      { seed: SEED },
    );
  });

  it('names of control tokens are counted as text', () => {
    expect(count('<|endoftext|>')).toBeGreaterThan(1);
    expect(count('before <|endoftext|> after')).toBe(reference('before <|endoftext|> after'));
  });

  it('a lone surrogate is counted as the replacement character', () => {
    for (const text of ['\ud800', 'a\udc00b', '\udc00\ud800', '한\ud83d']) {
      expect(count(text)).toBe(count(text.toWellFormed()));
    }
  });

  it('long runs without a space are counted, for any kind of character', () => {
    expect(count('a'.repeat(1_000_000))).toBe(125_000);
    expect(count('1'.repeat(1_000_000))).toBe(333_334);
    const length = 120_000;
    for (const unit of ['.', ' ', '\n', 'ab', '가', '\ud800', "'", ' \n']) {
      const text = unit.repeat(length / unit.length);
      expect(count(text)).toBeGreaterThanOrEqual(Buffer.byteLength(text) / CL100K_TOKEN_BYTES_MAX);
      expect(count(text)).toBeLessThanOrEqual(Buffer.byteLength(text));
    }
  });

  it('a cl100k count stops soon after `stopAfter`', () => {
    const text = 'one two three '.repeat(1000);
    expect(countText(text, 10)).toBe(11);
    expect(countText(text, 1e6)).toBe(count(text));
  });
});
