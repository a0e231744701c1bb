import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Catalog, type Model } from '../../src/models/catalog.ts';
import { checkTokenLimit, openTokenCounters, type TokenCounters } from '../../src/models/count-tokens.ts';
import { countTokens } from '../../src/models/tokens.ts';
import { AppError } from '../../src/platform/errors.ts';
import { openThreads, type Threads } from '../../src/platform/threads.ts';
import { BPE, UNIGRAM, WORD_PIECE, writeTokenizer } from './tokenizer-files.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'count-tokens-'));
const pool = openThreads();
/** Names of the called thread functions. */
let called: string[] = [];
const threads: Threads = {
  run(module, name, argument, options) {
    called.push(name);
    return pool.run(module, name, argument, options);
  },
  close: () => pool.close(),
};
const counters = openTokenCounters(threads);

const catalog = new Catalog();
const openai = catalog.find('vendor-a/text-embedding-3-small');
const estimated = catalog.find('vendor-e/embeddings-v3');

function withFile(name: string, tokenizer: unknown, maxTokens = 512): Model {
  const file = writeTokenizer(folder, name, tokenizer);
  return { ...estimated, id: `my-org/${name}`, maxTokens, tokenizer: { kind: 'file', path: file } };
}

const manyWords = (count: number) => Array.from({ length: count }, () => 'low').join(' ');

async function errorOf(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  if (error instanceof AppError) return error;
  throw new Error(`expected an AppError, got ${String(error)}`);
}

beforeEach(() => {
  called = [];
});

afterAll(async () => {
  await pool.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('TokenCounters', () => {
  it('counts with the vocabulary of OpenAI models are exact, and synchronous once it is loaded', async () => {
    const texts = ['tiktoken is great!', '', '<|endoftext|>'];
    expect(await counters.count(openai, texts)).toEqual([6, 0, 7]);
    expect(counters.count(openai, texts)).toEqual([6, 0, 7]);
    expect(called).toEqual([]);
  });

  it('large texts are counted on a thread, with the same result', async () => {
    const text = 'The harbour office publishes its tide tables every autumn. '.repeat(400);
    const parts = text.match(/[^.]+\. /g) ?? [];
    const [whole] = await counters.count(openai, [text]);
    expect(called).toEqual(['countOnThread']);
    let sum = 0;
    for (const part of parts) for (const count of await counters.count(openai, [part.trimEnd()])) sum += count;
    // Within the text each space belongs to the token of the next word; only the last space is a token of its own.
    expect(whole).toBe(sum + 1);
    expect(called).toHaveLength(1);
  });

  it('tokens without a tokenizer are estimated, for large texts on a thread', async () => {
    expect(counters.count(estimated, ['some text', ''])).toEqual([countTokens('some text'), 0]);
    const long = manyWords(50_000);
    expect(await counters.count(estimated, [long])).toEqual([countTokens(long)]);
    expect(called).toEqual(['countOnThread']);
  });

  it.each([
    ['bpe.json', BPE, [2, 1, 0]],
    ['word-piece.json', WORD_PIECE, [4, 3, 2]],
    ['unigram.json', UNIGRAM, [4, 3, 2]],
  ])(
    'tokens by %s are counted on a thread, and synchronously once it is prepared',
    async (name, tokenizer, expected) => {
      const model = withFile(name, tokenizer);
      const texts = ['lower', 'low', ''];
      expect(await counters.count(model, texts)).toEqual(expected);
      expect(called).toEqual(['countOnThread']);
      await counters.prepare([model, openai, estimated]);
      expect(counters.count(model, texts)).toEqual(expected);
      expect(called).toHaveLength(1);
    },
  );

  it('a count stops soon after 4 times the limit', async () => {
    const model = withFile('stops.json', BPE, 100);
    expect(await counters.count(model, [manyWords(400), manyWords(100_000)])).toEqual([400, expect.any(Number)]);
    const [, long = 0] = await counters.count(model, ['low', manyWords(100_000)]);
    expect(long).toBeGreaterThan(400);
    expect(long).toBeLessThan(2000);
  });

  it.each([
    ['a missing file', () => path.join(folder, 'nowhere.json')],
    ['a broken file', () => writeTokenizer(folder, 'broken.json', '{"model":')],
    ['a folder', () => folder],
  ])('%s is a fault of the settings that names file and model', async (_, file) => {
    const model: Model = { ...estimated, id: 'my-org/broken', tokenizer: { kind: 'file', path: file() } };
    const attempts = [() => counters.prepare([model]), async () => counters.count(model, ['text'])];
    for (const attempt of attempts) {
      const error = await errorOf(attempt());
      expect(error).toMatchObject({ code: 'config_invalid', status: 500 });
      expect(error.message).toContain('my-org/broken');
      expect(error.message).toContain(file());
    }
  });

  it('a repaired tokenizer file is read again', async () => {
    const file = writeTokenizer(folder, 'repaired.json', 'not yet');
    const model: Model = { ...estimated, tokenizer: { kind: 'file', path: file } };
    await expect(counters.prepare([model])).rejects.toThrow(AppError);
    writeTokenizer(folder, 'repaired.json', BPE);
    await counters.prepare([model]);
    expect(counters.count(model, ['lower'])).toEqual([2]);
  });

  it('a count rejects with the reason of its signal', async () => {
    const abortReason = new Error('the client went away');
    expect(() => counters.count(openai, ['text'], AbortSignal.abort(abortReason))).toThrow(abortReason);
    const controller = new AbortController();
    const counting = counters.count(openai, [manyWords(200_000)], controller.signal);
    controller.abort(abortReason);
    await expect(Promise.resolve(counting)).rejects.toThrow();
  });

  it('lone surrogates are counted with every kind of tokenizer', async () => {
    for (const model of [openai, estimated, withFile('surrogates.json', WORD_PIECE)]) {
      for (const count of await counters.count(model, ['\ud800', 'a\udfffb'])) expect(count).toBeGreaterThan(0);
    }
  });
});

describe('checkTokenLimit', () => {
  /** Create counters that record the texts that they count. */
  function recordingCounters(): { counters: TokenCounters; counted: string[] } {
    const counted: string[] = [];
    const count: TokenCounters['count'] = (model, texts, signal) => {
      counted.push(...texts);
      return counters.count(model, texts, signal);
    };
    return { counters: { ...counters, count }, counted };
  }

  it('only texts with more bytes than allowed tokens are counted', async () => {
    const model = { ...openai, maxTokens: 10 };
    const { counters, counted } = recordingCounters();
    const long = 'antidisestablishmentarianism';
    expect(await checkTokenLimit(counters, model, ['0123456789', long, '한국어', '한국어다'])).toEqual([
      null,
      6,
      null,
      expect.any(Number),
    ]);
    expect(counted).toEqual([long, '한국어다']);
  });

  it('a text of exactly the limit is accepted; one with a token more is refused with its position and its count', async () => {
    const limit = 3000;
    const model = { ...openai, maxTokens: limit };
    await checkTokenLimit(counters, model, [manyWords(limit)]);
    const error = await errorOf(checkTokenLimit(counters, model, ['a', 'b', manyWords(limit + 1)]));
    expect(error).toMatchObject({ code: 'token_limit_exceeded', status: 400, param: 'input[2]' });
    expect(error.message).toBe(`input[2] has 3001 tokens; ${model.id} takes at most 3000; shorten or split the text`);
  });

  it('the error names the position in the request if indexes are given', async () => {
    const model = { ...openai, maxTokens: 5 };
    const work = checkTokenLimit(counters, model, ['a', manyWords(20)], { indexes: [4, 9] });
    expect(await errorOf(work)).toMatchObject({ param: 'input[9]' });
  });

  it('the error marks an estimate as one', async () => {
    const model = { ...estimated, maxTokens: 50 };
    const error = await errorOf(checkTokenLimit(counters, model, [manyWords(60)]));
    expect(error.message).toMatch(
      /^input\[0\] has about \d+ tokens; vendor-e\/embeddings-v3 takes at most 50; shorten or split the text$/,
    );
  });

  it('the error has no exact count of a text that is far too long', async () => {
    const error = await errorOf(checkTokenLimit(counters, openai, [manyWords(100_000)]));
    expect(error.message).toBe(
      `input[0] has more than 32764 tokens; ${openai.id} takes at most 8191; shorten or split the text`,
    );
  });

  it('a text that is certainly too long is refused without a count', async () => {
    const { counters, counted } = recordingCounters();
    const error = await errorOf(checkTokenLimit(counters, openai, ['a'.repeat(8191 * 4 * 128 + 129)]));
    expect(error).toMatchObject({ code: 'token_limit_exceeded', param: 'input[0]' });
    expect(counted).toEqual([]);
  });

  it('texts of any length are counted with a tokenizer file, since its normaliser may lengthen a text', async () => {
    const model = withFile('short.json', WORD_PIECE, 3);
    expect(await checkTokenLimit(counters, model, ['a'])).toEqual([3]);
    expect(await errorOf(checkTokenLimit(counters, model, ['a', 'ab']))).toMatchObject({ param: 'input[1]' });
  });
});
