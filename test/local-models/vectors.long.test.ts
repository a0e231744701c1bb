import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ModelProcess } from '../../src/local-models/runtime/model-process.ts';
import type { ModelArgument } from '../../src/local-models/runtime/protocol.ts';
import {
  argumentOf,
  DIMENSION,
  FIXTURES,
  lowestCosine,
  referenceTexts,
  referenceTokens,
  referenceVectors,
} from '../support/local-models.ts';
import { createTestRandom } from '../support/random.ts';

const texts = referenceTexts();
const START_MS = 120_000;
const never = new AbortController().signal;
const all = texts.map((_, at) => at);

async function start(argument: ModelArgument): Promise<ModelProcess> {
  const started = await ModelProcess.start(argument, START_MS);
  onTestFinished(() => started.stop());
  return started;
}

describe.each(['bert', 'decoder'] as const)('vectors of a small %s', (name) => {
  const reference = referenceVectors(name);

  it.each([64, 2048])(
    `${name}: 1,000 texts in batches of at most %i tokens have the vectors of Python's onnxruntime`,
    async (batchTokensMax) => {
      const model = await start(argumentOf(name, { batchTokensMax }));
      const vectors = await model.run({ texts, query: null, isBackground: false }, never);
      expect(model.dimension).toBe(DIMENSION);
      expect(lowestCosine(vectors, reference, all)).toBeGreaterThan(0.99999);
    },
  );

  it(`${name}: the vector of a text does not depend on the texts beside it`, async () => {
    const model = await start(argumentOf(name));
    const random = createTestRandom(`${name} batches`);
    const requests = Array.from({ length: 20 }, () =>
      Array.from({ length: 1 + random.int(40) }, () => random.int(1000)),
    );
    const replies = await Promise.all(
      requests.map((rows) =>
        model.run(
          { texts: rows.map((row) => texts[row] as string), query: null, isBackground: random.int(2) === 0 },
          never,
        ),
      ),
    );
    for (const [nth, rows] of requests.entries()) {
      const wanted = Float32Array.from(
        rows.flatMap((row) => [...reference.subarray(row * DIMENSION, (row + 1) * DIMENSION)]),
      );
      expect(lowestCosine(replies[nth] as Float32Array, wanted, [...rows.keys()])).toBeGreaterThan(0.99999);
    }
  });
});

describe('a small reranker', () => {
  it("a cross-encoder gives 100 pairs the scores of Python's onnxruntime", async () => {
    const file = readFileSync(path.join(FIXTURES, 'reranker.scores.json'), 'utf8');
    const reference = JSON.parse(file) as { from: number; to: number; scores: number[] };
    const model = await start(argumentOf('reranker'));
    const cut = (at: number, length: number) =>
      Array.from(texts[at] as string)
        .slice(0, length)
        .join('');
    const scores = await Promise.all(
      reference.scores.map(async (_, nth) => {
        const at = reference.from + nth;
        return (
          await model.run({ texts: [cut(at + 1, 60)], query: cut(at, 40), isBackground: false }, never)
        )[0] as number;
      }),
    );
    const differences = scores.map((score, nth) => Math.abs(score - (reference.scores[nth] as number)));
    expect(Math.max(...differences)).toBeLessThan(1e-6);
  });

  it('a text that is too long for the model is cut, not the query', async () => {
    const model = await start(argumentOf('reranker'));
    const score = async (text: string) =>
      (await model.run({ texts: [text], query: 'search', isBackground: false }, never))[0];
    const words = 'vector engine '.repeat(500);
    expect(await score(words)).toBe(await score(`${words} other words`));
    expect(await score(words)).not.toBe(await score('engine'));
  });
});

it('an int8 variant gives vectors near those of the full model', async () => {
  const model = await start(argumentOf('bert', { model: path.join(FIXTURES, 'bert/onnx/model_int8.onnx') }));
  const vectors = await model.run({ texts, query: null, isBackground: false }, never);
  const reference = referenceVectors('bert');
  // Every text has [CLS], [SEP] and at least one more token.
  const rows = referenceTokens('bert').flatMap((ids, at) => (ids.length > 2 ? [at] : []));
  expect(lowestCosine(vectors, reference, rows)).toBeGreaterThan(0.97);
});
