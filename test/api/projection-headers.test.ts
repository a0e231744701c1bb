import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FitSummary } from '../../src/projection/fit-projection.ts';
import { retire } from '../../src/projection/manage-maps.ts';
import { calibrate } from '../support/calibrate.ts';
import { drawText } from '../support/draw-text.ts';
import { encodePng } from '../support/encode-image.ts';
import { FakeVision } from '../support/fake-vision.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { SEED } from '../support/random.ts';

// Tests that every vector in an answer has gone through the projection of its model, which a header names.

const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-e/beta';
const GAMMA = 'vendor-a/gamma';
const ALIAS = 'service-embed-1-small';
const customModel = (id: string, dimensions: number) => ({
  ...{ id, vendor: id.split('/')[0], dimensions, max_tokens: 8192, variable_dimensions: true },
});

let test: TestGateway;
let vision: FakeVision;
let key: string;
const fits: Record<string, FitSummary> = {};

beforeAll(async () => {
  vision = await FakeVision.start();
  test = await openTestGateway(
    {
      models: [customModel(ALPHA, 160), customModel(BETA, 96), customModel(GAMMA, 128)],
      alias: { [ALIAS]: { default: ALPHA, ko: BETA } },
      vision: { protocol: 'openai', base_url: vision.baseUrl('openai'), model: 'eyes' },
    },
    { semantic: true, dimensions: { alpha: 160, beta: 96, gamma: 128 } },
  );
  key = await test.key({ scopes: ['embed', 'routing:manage'] });
  fits[ALPHA] = await calibrate(test.appliance, ALPHA, { reference: true });
  fits[BETA] = await calibrate(test.appliance, BETA);
});
afterAll(async () => {
  await test.close();
  await vision.close();
  expect([...test.upstream.violations, ...vision.violations]).toEqual([]);
});

const post = (path: string, json: unknown) => test.call('POST', path, { key, json });
const projectionOf = (headers: Headers) => headers.get('x-service-projection');
const headerOf = (model: string) =>
  `canon-v1; map=${fits[model]?.map_version}; score=${fits[model]?.scores.score.toFixed(2)}`;
const cosine = (a: number[], b: number[]) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);
const one = async (model: string, input: string, dimensions?: number) => {
  const { status, headers, body } = await post('/v1/embeddings', { input, model, dimensions });
  expect(status).toBe(200);
  return { headers, vector: body.data[0].embedding as number[] };
};

const TEXT = 'ferry pilot storm';

it('the three embedding routes give the same canonical vector, and name its map', async () => {
  vision.answer = () => TEXT;
  const image = encodePng(drawText(['A'], { letterPx: 20, marginPx: 4 })).toString('base64');
  for (const model of [ALPHA, BETA]) {
    const single = await one(model, TEXT, 64);
    const batch = await post('/v1/embed/batch', { texts: [TEXT, 'other words'], model, dimensions: 64 });
    const seen = await post('/v1/embed/image', { images: [image], model, dimensions: 64 });
    expect([single.headers, batch.headers, seen.headers].map(projectionOf)).toEqual(Array(3).fill(headerOf(model)));
    expect(cosine(batch.body.embeddings[0], single.vector)).toBeGreaterThan(1 - 1e-6);
    expect(cosine(seen.body.embeddings[0], single.vector)).toBeGreaterThan(1 - 1e-6);
  }
});

it('two calibrated models give one text nearly the same vector, which is not a native one', async () => {
  const [alpha, beta] = [await one(ALPHA, TEXT, 256), await one(BETA, TEXT, 256)];
  expect(cosine(alpha.vector, beta.vector)).toBeGreaterThan(0.9);
  const other = await one(BETA, 'oven butter onion', 256);
  expect(cosine(alpha.vector, other.vector)).toBeLessThan(0.6);
  const native = [...test.upstream.vectorOf('alpha', TEXT)];
  expect(Math.abs(cosine(native, alpha.vector.slice(0, native.length)))).toBeLessThan(0.9);
});

it('a batch in two languages, split over two models, names both maps', async () => {
  const { headers, body } = await post('/v1/embeddings', {
    input: ['The ferry pilot waits for the tide.', '항구의 배는 폭풍이 오면 닻을 내린다.'],
    model: ALIAS,
  });
  expect(body.model).toBe(`${ALPHA}+${BETA}`);
  expect(projectionOf(headers)).toBe(`${headerOf(ALPHA)}, ${headerOf(BETA)}`);
});

it('an answer of an uncalibrated model is marked as uncalibrated', async () => {
  const { headers, vector } = await one(GAMMA, TEXT);
  expect(projectionOf(headers)).toBe('uncalibrated');
  expect(cosine(vector, [...test.upstream.vectorOf('gamma', TEXT)])).toBeGreaterThan(1 - 1e-6);
});

it('GET /v1/models shows which models are calibrated, the alias by its backends', async () => {
  const { body } = await test.call('GET', '/v1/models', { key });
  const calibrated = body.data.flatMap((model: { id: string; calibrated: boolean }) =>
    model.calibrated ? [model.id] : [],
  );
  expect(calibrated.toSorted()).toEqual([ALIAS, ALPHA, BETA].toSorted());
});

it('routing warns of a fallback that cannot be compared, and of no other', async () => {
  const route = async (fallback: string) => {
    const json = { primary: ALPHA, fallback, mode: 'fallback' };
    return (await test.call('PUT', '/v1/routing', { key, json })).body.warnings as string[];
  };
  expect(await route(BETA)).toEqual([]);
  expect((await route(GAMMA)).join()).toContain('service projections fit');
});

it('a vector of any dimension from 1 to 4,096 is the normalised prefix of a larger one', async () => {
  const full = await one(ALPHA, TEXT, 4096);
  expect(full.vector).toHaveLength(4096);
  const rank = Number(full.headers.get('x-service-effective-dimensions'));
  expect(full.vector.slice(rank).every((value) => value === 0)).toBe(true);
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4096 }), async (dimensions) => {
      const { vector, headers } = await one(ALPHA, TEXT, dimensions);
      const norm = Math.hypot(...full.vector.slice(0, dimensions));
      const prefix = full.vector.slice(0, dimensions).map((value) => value / norm);
      expect(vector).toHaveLength(dimensions);
      for (const [i, value] of vector.entries()) expect(Math.abs(value - (prefix[i] as number))).toBeLessThan(1e-5);
      expect(headers.get('x-service-effective-dimensions')).toBe(dimensions > rank ? String(rank) : null);
    }),
    { seed: SEED, numRuns: 25 },
  );
});

it('an activated map is named by the next answer, and a retired one no more', async () => {
  const summary = await calibrate(test.appliance, GAMMA);
  fits[GAMMA] = summary;
  expect(projectionOf((await one(GAMMA, TEXT)).headers)).toBe(headerOf(GAMMA));
  await retire({ ...test.appliance.calibration, actor: 'operator:test' }, summary.map_version);
  await test.appliance.projections.refresh();
  expect(projectionOf((await one(GAMMA, TEXT)).headers)).toBe('uncalibrated');
});
