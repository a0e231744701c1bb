import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadTokenizerFile } from '../../src/models/tokenizer-file.ts';
import type { CountText } from '../../src/models/tokens.ts';
import { BPE, UNIGRAM, WORD_PIECE, writeTokenizer } from './tokenizer-files.ts';

const ALL = Number.POSITIVE_INFINITY;
const folder = mkdtempSync(path.join(tmpdir(), 'tokenizer-file-'));
let bpe: CountText;
let wordPiece: CountText;
let unigram: CountText;

beforeAll(async () => {
  bpe = await loadTokenizerFile(writeTokenizer(folder, 'bpe.json', BPE));
  wordPiece = await loadTokenizerFile(writeTokenizer(folder, 'word-piece.json', WORD_PIECE));
  unigram = await loadTokenizerFile(writeTokenizer(folder, 'unigram.json', UNIGRAM));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('loadTokenizerFile', () => {
  it('a byte-pair encoding file counts by its merges', () => {
    expect(bpe('', ALL)).toBe(0);
    expect(bpe('low', ALL)).toBe(1);
    expect(bpe('lower low', ALL)).toBe(3);
    expect(bpe('slow 7', ALL)).toBe(3);
  });

  it('a WordPiece file counts with the tokens around a text', () => {
    expect(wordPiece('', ALL)).toBe(2);
    expect(wordPiece('Lower', ALL)).toBe(4);
    expect(wordPiece('low, lower', ALL)).toBe(2 + 1 + 1 + 2);
    expect(wordPiece('x'.repeat(101), ALL)).toBe(3);
  });

  it('a Unigram file counts with the tokens around a text', () => {
    expect(unigram('low', ALL)).toBe(3);
    expect(unigram('lower 항구의', ALL)).toBe(2 + 2 + 2);
  });

  it('the count of a long text is the sum of the counts of its words', () => {
    for (const words of [10, 500, 20_000]) {
      const text = Array.from({ length: words }, () => 'lower').join(' ');
      expect(bpe(text, ALL)).toBe(2 * words);
      expect(wordPiece(text, ALL)).toBe(2 * words + 2);
      expect(unigram(text, ALL)).toBe(2 * words + 2);
    }
  });

  it('the count of an endless word is never lower than its merges allow', () => {
    const letters = 300_000;
    expect(bpe('low'.repeat(letters / 3), ALL)).toBeGreaterThanOrEqual(letters / 3);
    expect(unigram('z'.repeat(letters), ALL)).toBeGreaterThanOrEqual(letters);
  });

  it('long runs of unknown characters and lone surrogates are counted', () => {
    for (const unit of ['\ud800', '😀', '7', '\n', ' ', '\u0301', '\ufdfa']) {
      for (const count of [bpe, wordPiece, unigram]) {
        expect(Number.isSafeInteger(count(unit.repeat(20_000), ALL))).toBe(true);
      }
    }
  });

  it('a count by a tokenizer file stops soon after `stopAfter`', () => {
    const text = 'low '.repeat(100_000);
    expect(bpe(text, 1000)).toBeGreaterThan(1000);
    expect(bpe(text, 1000)).toBeLessThan(2000);
  });

  it.each([
    ['nothing', ''],
    ['no JSON', '{"model"'],
    ['another file', '{"name": "service"}'],
    ['a list', '[]'],
    ['a model of an unknown type', JSON.stringify({ ...BPE, model: { type: 'Magic', vocab: {} } })],
    ['a model without its merges', JSON.stringify({ ...BPE, model: { type: 'BPE', vocab: { a: 0 } } })],
    ['a model without a vocabulary', JSON.stringify({ ...BPE, model: { type: 'BPE', merges: [] } })],
    ['an unknown part', JSON.stringify({ ...BPE, pre_tokenizer: { type: 'Magic' } })],
  ])('a tokenizer file with %s is refused', async (_, content) => {
    await expect(loadTokenizerFile(writeTokenizer(folder, 'broken.json', content))).rejects.toThrow();
  });
});
