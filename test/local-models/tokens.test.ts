import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { TextEncoder } from '../../src/local-models/runtime/encode-texts.ts';
import { loadTokenizerFile } from '../../src/models/tokenizer-file.ts';
import { FIXTURES, referenceTexts, referenceTokens, TOKENS_MAX } from '../support/local-models.ts';

const texts = referenceTexts();

describe.each(['bert', 'decoder', 'unigram'])('tokens of a tokenizer.json of the kind of %s', (name) => {
  const tokenizer = path.join(FIXTURES, name, 'tokenizer.json');

  it(`${name}: 1,000 texts in ten scripts have the tokens that Python's tokenizers give them`, async () => {
    const encoder = await TextEncoder.open({ tokenizer, maxTokens: TOKENS_MAX, padId: 0 });
    const wanted = referenceTokens(name);
    const different = texts.flatMap((text, at) => {
      const { ids } = encoder.encode(text);
      return JSON.stringify(ids) === JSON.stringify(wanted[at]) ? [] : [{ text, ids, wanted: wanted[at] }];
    });
    expect(different).toEqual([]);
    expect(wanted).toHaveLength(1000);
  });

  it(`${name}: the count of tokens is the number of tokens that the model gets`, async () => {
    const count = await loadTokenizerFile(tokenizer);
    const encoder = await TextEncoder.open({ tokenizer, maxTokens: 100_000, padId: 0 });
    const differences = texts.filter((text) => count(text, 100_000) !== encoder.encode(text).ids.length);
    expect(differences).toEqual([]);
  });

  it(`${name}: lone surrogates are the replacement character, as in UTF-8`, async () => {
    const encoder = await TextEncoder.open({ tokenizer, maxTokens: TOKENS_MAX, padId: 0 });
    expect(encoder.encode('a\ud800b').ids).toEqual(encoder.encode('a\ufffdb').ids);
  });

  it(`${name}: a text of more than 8,192 characters is cut between words and keeps its special tokens`, async () => {
    const encoder = await TextEncoder.open({ tokenizer, maxTokens: 100_000, padId: 0 });
    const short = encoder.encode('search engine').ids;
    const long = encoder.encode('search engine '.repeat(1000).trim()).ids;
    const specials = encoder.encode('').ids.length;
    expect(long.length - specials).toBe((short.length - specials) * 1000);
    expect([long[0], long.at(-1)]).toEqual([short[0], short.at(-1)]);
  });
});
