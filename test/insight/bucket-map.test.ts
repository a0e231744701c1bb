import { afterAll, beforeAll, expect, it } from 'vitest';
import { projectToPlane } from '../../src/insight/map/project-to-plane.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ authLevel: 10 });
  const upload = (json: object) => test.call('POST', '/v1/buckets/default/documents', { key, json });
  for (let i = 0; i < 12; i++) {
    const topic = i % 2 === 0 ? 'ships in the harbour' : 'recipes for bread';
    await upload({ filename: `text-${i}.txt`, text: `About ${topic}, number ${i}.` });
  }
  await upload({ filename: 'hidden.txt', text: 'A hidden text.', privacy_level: 9 });
  const { sql } = test.appliance;
  await until(async () => (await sql`SELECT 1 FROM documents WHERE status <> 'ready'`).length === 0, {
    what: 'ingest',
    withinMs: 60_000,
  });
});
afterAll(() => test.close());

const map = (by: string, query = '', bucket = 'default') =>
  test.call('GET', `/v1/buckets/${bucket}/map${query}`, { key: by });

it('a map shows each sampled chunk at a place of its own, with its document', async () => {
  const { body } = await map(key);
  expect(body).toMatchObject({ object: 'bucket_map', documents: 13, model: expect.any(String) });
  expect(body.points).toHaveLength(13);
  const one = body.points.find((point: { file_name: string }) => point.file_name === 'text-3.txt');
  expect(one).toMatchObject({ chunk_index: 0, excerpt: 'About recipes for bread, number 3.' });
  expect(one.document_id).toMatch(/^doc_/);
  expect(body.points.every(({ x, y }: { x: number; y: number }) => Number.isFinite(x) && Number.isFinite(y))).toBe(
    true,
  );
  expect(body.explained[0]).toBeGreaterThan(body.explained[1]);
  expect((await map(key)).body).toEqual(body);
});

it('a map shows and counts only documents that the caller may see', async () => {
  const low = await test.key({ authLevel: 1 });
  const { body } = await map(low);
  expect(body.documents).toBe(12);
  expect(JSON.stringify(body)).not.toContain('hidden');
  expect((await map(await test.key({ org: 'other' }), '', body.bucket_id)).status).toBe(404);
});

it('a sample is as large as asked for, and its bounds hold', async () => {
  expect((await map(key, '?sample=10')).body.points).toHaveLength(10);
  for (const sample of ['0', '9', '2001', 'x']) expect((await map(key, `?sample=${sample}`)).status).toBe(400);
  const json = { name: 'empty' };
  const manager = await test.key({ scopes: ['buckets:manage', 'search'] });
  await test.call('POST', '/v1/buckets', { key: manager, json });
  expect((await map(manager, '', 'empty')).body).toMatchObject({ documents: 0, points: [], explained: [0, 0] });
});

it('the plane of a projection is that of the largest variance, in its order and with a fixed sign', () => {
  const n = 200;
  const dimensions = 6;
  const vectors = new Float32Array(n * dimensions);
  for (let i = 0; i < n; i++) {
    const [a, b] = [3 * Math.sin(i * 1.7), Math.cos(i * 0.9)];
    vectors.set([1, a, 5, b, 0.01 * Math.sin(i * 2.3), 0], i * dimensions);
  }
  const { points, explained } = projectToPlane({ vectors, dimensions });
  const column = (offset: number, width: number, from: ArrayLike<number>) =>
    Array.from({ length: n }, (_, i) => from[i * width + offset] as number);
  const correlation = (a: number[], b: number[]) => {
    const mean = (x: number[]) => x.reduce((sum, v) => sum + v, 0) / n;
    const [ma, mb] = [mean(a), mean(b)];
    const dot = (x: number[], mx: number, y: number[], my: number) =>
      x.reduce((sum, v, i) => sum + (v - mx) * ((y[i] as number) - my), 0);
    return dot(a, ma, b, mb) / Math.sqrt(dot(a, ma, a, ma) * dot(b, mb, b, mb));
  };
  expect(correlation(column(0, 2, points), column(1, dimensions, vectors))).toBeGreaterThan(0.99);
  expect(correlation(column(1, 2, points), column(3, dimensions, vectors))).toBeGreaterThan(0.99);
  expect(explained[0] + explained[1]).toBeGreaterThan(0.999);
});

it('equal vectors and a single one lie at the origin', () => {
  for (const n of [1, 5]) {
    const { points, explained } = projectToPlane({ vectors: new Float32Array(n * 4).fill(0.5), dimensions: 4 });
    expect([...points, ...explained]).toEqual(Array(2 * n + 2).fill(0));
  }
});
