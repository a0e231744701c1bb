import { expect, it } from 'vitest';
import { tokenBounds } from '../../../src/models/count-tokens.ts';
import type { ProviderSettings } from '../../../src/platform/vendor-settings.ts';
import { fakeTokens } from '../../support/fake-upstream.ts';
import { callOf, modelOf, settingsOf, startProvider, startUpstream } from './provider-under-test.ts';

const model = modelOf({ tokenizer: { kind: 'cl100k' } });

/** Open a provider, and embed texts whose counts are upper bounds. */
async function setUp(fields: Partial<ProviderSettings> = {}) {
  const upstream = await startUpstream();
  const { provider } = startProvider(settingsOf('openai', upstream.baseUrl('openai'), fields));
  const counted: string[] = [];
  const embed = (texts: readonly string[]) => {
    const countExactly = (some: readonly string[]) => {
      counted.push(...some);
      return some.map(() => 1);
    };
    return provider.embed(callOf(texts, { model, counts: tokenBounds(model, texts) ?? [], countExactly }));
  };
  return { upstream, embed, counted };
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);

it('texts that need no count have tokens that add up to the total of the vendor', async () => {
  const { upstream, embed, counted } = await setUp();
  const texts = ['Größe', 'two words', '한국어', 'x'];
  const { tokens } = await embed(texts);
  expect(sumOf(tokens)).toBe(sumOf(texts.map(fakeTokens)));
  expect(Math.min(...tokens)).toBeGreaterThanOrEqual(1);
  expect(counted).toEqual([]);
  expect(upstream.violations).toEqual([]);
});

it('texts are counted after the call if the total of the vendor is none that they can have', async () => {
  const { upstream, embed, counted } = await setUp();
  upstream.next({ kind: 'usage', tokens: 100 });
  const texts = ['one', 'three'];
  expect((await embed(texts)).tokens).toEqual([1, 1]);
  expect(counted).toEqual(texts);
});

it('texts are counted before the call if their bounds would divide it into more calls', async () => {
  const { upstream, embed, counted } = await setUp({ tokensMax: 8 });
  const texts = ['one', 'three', 'twelve'];
  await embed(texts);
  expect(upstream.calls.map((call) => call.texts)).toEqual([texts]);
  expect(counted).toEqual(texts);
});
