import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Catalog, type Model } from '../../src/models/catalog.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openDiskObjects } from '../../src/platform/objects/disk.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { openThreads, type Threads } from '../../src/platform/threads.ts';
import type { EmbedNative } from '../../src/projection/calibration.ts';
import { checkCanaries } from '../../src/projection/check-canaries.ts';
import { evaluateProjection } from '../../src/projection/evaluate-projection.ts';
import {
  type FitRequest,
  fitProjection,
  type ProjectionContext,
  planFit,
} from '../../src/projection/fit-projection.ts';
import { activate, findMap, listMaps, retire } from '../../src/projection/manage-maps.ts';
import { spaceOf } from '../../src/projection/projections.ts';
import { openProjectionRegistry } from '../../src/projection/registry.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { syntheticTexts, syntheticVectors } from '../support/synthetic-models.ts';

const REFERENCE = 'my-org/reference';
const OTHER = 'my-org/other';
const catalog = new Catalog([
  { id: REFERENCE, vendor: 'my-org', dimensions: 96, maxTokens: 512, variableDimensions: true },
  { id: OTHER, vendor: 'my-org', dimensions: 64, maxTokens: 512, variableDimensions: true },
]);
const texts = syntheticTexts(600);

let directory: string;
let threads: Threads;
let database: TestDatabase;
let objects: Objects;
let calls: { model: string; texts: number }[];
let embed: EmbedNative;
let context: ProjectionContext;

beforeAll(() => {
  threads = openThreads();
});
afterAll(() => threads.close());
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'service-test-projection-'));
  objects = await openDiskObjects({ directory });
  database = await createTestDatabase();
  calls = [];
  embed = async ({ model, texts: some }) => {
    calls.push({ model: model.id, texts: some.length });
    return syntheticVectors(model, some);
  };
  const findModel = (id: string) => catalog.find(id);
  context = {
    sql: database.sql,
    objects,
    threads,
    logger: openLogger('silent'),
    embed: (call) => embed(call),
    findModel,
    requireServed: () => undefined,
  };
  return async () => {
    await database.drop();
    await rm(directory, { recursive: true, force: true });
  };
});

const request = (model: string, more: Partial<FitRequest> = {}): FitRequest => ({
  ...{ model, reference: false, corpus: null, pairsMax: 5000, method: 'procrustes', allowFewPairs: false },
  ...{ activate: true, actor: 'operator:test' },
  ...more,
});

async function fitModel(asked: FitRequest, signal = new AbortController().signal) {
  const plan = await planFit(context, asked, () => texts);
  return { plan, report: await fitProjection(context, asked, plan, { signal }) };
}

const registry = () => openProjectionRegistry({ sql: database.sql, objects, threads, logger: openLogger('silent') });
const model = (id: string): Model => catalog.find(id);
const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0);

describe('planFit', () => {
  it('the first built-in texts are fitted, and a sample of the texts of an operator', async () => {
    const asked = request(REFERENCE, { reference: true, pairsMax: 500 });
    const { texts: builtIn } = await planFit(context, asked, () => texts);
    expect(builtIn).toEqual(texts.slice(0, 500));
    const { texts: sampled } = await planFit(context, { ...asked, corpus: texts }, () => []);
    expect(sampled).toHaveLength(500);
    expect(sampled.filter((text) => texts.indexOf(text) >= 500).length).toBeGreaterThan(50);
  });
});

describe('fitProjection', () => {
  it('the space is created from the reference, another model is mapped into it, and both can be compared', async () => {
    const { report: reference } = await fitModel(request(REFERENCE, { reference: true }));
    expect(reference).toMatchObject({ model: REFERENCE, space: 'canon-v1', pairs: 600, grade: 'good', active: true });
    const { report: other } = await fitModel(request(OTHER));
    expect(other).toMatchObject({ model: OTHER, grade: 'good', active: true });
    expect(other.map_version).toBeGreaterThan(reference.map_version);

    const projections = registry();
    await projections.refresh();
    expect(spaceOf(projections, model(REFERENCE))).toBe('canon-v1');
    const sample = syntheticTexts(20, 7).map(({ text }) => text);
    const [a, b] = await Promise.all(
      [REFERENCE, OTHER].map((id) => projections.mapOf(model(id))?.project(syntheticVectors(model(id), sample), 256)),
    );
    for (let row = 0; row < sample.length; row++) {
      const own = (a as Float32Array).subarray(row * 256, (row + 1) * 256);
      const cosines = sample.map((_, at) => cosine(own, (b as Float32Array).subarray(at * 256, (at + 1) * 256)));
      expect(cosines.indexOf(Math.max(...cosines))).toBe(row);
    }
    const audit = await database.sql`SELECT action FROM audit_log WHERE action = 'projection.fit'`;
    expect(audit).toHaveLength(2);
  });

  it('a fit resumes an interrupted run without paying twice', async () => {
    const stop = new AbortController();
    let left = 3;
    const whole = embed;
    embed = async (call) => {
      if (left-- === 0) stop.abort(new Error('interrupted'));
      stop.signal.throwIfAborted();
      return whole(call);
    };
    await expect(fitModel(request(REFERENCE, { reference: true }), stop.signal)).rejects.toThrow('interrupted');
    const before = calls.reduce((sum, call) => sum + call.texts, 0);
    expect(before).toBeGreaterThan(0);
    embed = whole;
    await fitModel(request(REFERENCE, { reference: true }));
    expect(calls.reduce((sum, call) => sum + call.texts, 0)).toBe(600);
    const kept: string[] = [];
    for await (const { key } of objects.list('projections/calibration/')) kept.push(key);
    expect(kept).toEqual([]);
  });

  it('texts that are not in the space are embedded with the reference, too', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    calls.length = 0;
    const foreign = syntheticTexts(560, 3);
    const { plan, report } = await fitModel(request(OTHER, { corpus: [...texts.slice(0, 40), ...foreign] }));
    expect(plan.textsToEmbed).toBe(600 + 560);
    expect(report).toMatchObject({ pairs: 600, grade: 'good' });
    const sent = (id: string) => calls.filter((call) => call.model === id).reduce((sum, call) => sum + call.texts, 0);
    expect({ other: sent(OTHER), reference: sent(REFERENCE) }).toEqual({ other: 600, reference: 560 });
  });

  it.each([
    ['a model before there is a space', request(OTHER), 'space_missing'],
    ['the alias', request('service-embed-1-small', { reference: true }), 'not_fittable'],
    ['the built-in model', request('local/lexical-1', { reference: true }), 'not_fittable'],
    ['too few pairs', request(REFERENCE, { reference: true, corpus: texts.slice(0, 499) }), 'too_few_pairs'],
    [
      'one text 5,000 times',
      request(REFERENCE, {
        reference: true,
        corpus: Array.from({ length: 5000 }, () => texts[0] as (typeof texts)[0]),
      }),
      'too_few_pairs',
    ],
  ])('a fit refuses %s before any text is embedded', async (_, asked, code) => {
    await expect(fitModel(asked)).rejects.toMatchObject({ code });
    expect(calls).toEqual([]);
  });

  it.each([
    ['NaN', (vectors: Float32Array) => vectors.fill(Number.NaN, 5, 6), 'vector_not_finite'],
    ['an infinity', (vectors: Float32Array) => vectors.fill(Number.POSITIVE_INFINITY, 5, 6), 'vector_not_finite'],
    ['a zero vector', (vectors: Float32Array) => vectors.fill(0, 0, 64), 'zero_vector'],
    [
      'one vector for all texts',
      (vectors: Float32Array) => vectors.map((_, i) => (i % 64) + 1),
      'vectors_not_distinct',
    ],
  ])('a fit refuses %s, and the active map stays', async (_, spoil, code) => {
    await fitModel(request(REFERENCE, { reference: true }));
    const { report } = await fitModel(request(OTHER));
    const whole = embed;
    embed = async (call) => spoil(await whole(call)) as Float32Array;
    await expect(fitModel(request(OTHER))).rejects.toMatchObject({ code, status: 400 });
    expect((await listMaps(database.sql, { model: OTHER })).filter((map) => map.status === 'active')).toMatchObject([
      { version: report.map_version },
    ]);
  });

  it('a space is never created twice', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    await expect(fitModel(request(OTHER, { reference: true }))).rejects.toMatchObject({ code: 'space_exists' });
  });

  it('a map that fails does not replace the active one', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    const { report: good } = await fitModel(request(OTHER));
    const whole = embed;
    embed = async (call) => {
      const vectors = await whole(call);
      // Every text gets another meaning, so that the models cannot be aligned.
      return call.model.id === OTHER ? vectors.toReversed() : vectors;
    };
    const { report: bad } = await fitModel(request(OTHER));
    expect(bad).toMatchObject({
      grade: 'fail',
      active: false,
      warnings: expect.arrayContaining([expect.stringContaining('stays')]),
    });
    expect((await findMap(database.sql, good.map_version)).status).toBe('active');
  });
});

describe('maps', () => {
  it('maps are activated and retired, and running processes use them', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    const { report: first } = await fitModel(request(OTHER));
    const { report: second } = await fitModel(request(OTHER, { method: 'ridge', activate: false }));
    const projections = registry();
    await projections.refresh();
    expect(projections.mapOf(model(OTHER))?.version).toBe(first.map_version);
    await activate({ ...context, actor: 'operator:test' }, second.map_version);
    await projections.refresh();
    expect(projections.mapOf(model(OTHER))?.version).toBe(second.map_version);
    await retire({ ...context, actor: 'operator:test' }, second.map_version);
    await projections.refresh();
    expect(projections.mapOf(model(OTHER))).toBe(null);
    expect(spaceOf(projections, model(OTHER))).toBe(`native:${OTHER}@1`);
    await expect(activate({ ...context, actor: 'operator:test' }, second.map_version)).rejects.toMatchObject({
      code: 'map_retired',
    });
    await expect(activate({ ...context, actor: 'operator:test' }, 999)).rejects.toMatchObject({
      code: 'map_not_found',
    });
  });

  it('maps of another revision of the model are not used, and cannot be activated', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    const { report } = await fitModel(request(OTHER));
    const projections = registry();
    await projections.refresh();
    const changed = { ...model(OTHER), revision: '2' };
    expect(projections.mapOf(changed)).toBe(null);
    const findModel = () => changed;
    await expect(activate({ ...context, findModel, actor: 'operator:test' }, report.map_version)).rejects.toMatchObject(
      { code: 'revision_differs' },
    );
  });

  it('a map whose artifact is damaged does not replace the active one', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    const { report: first } = await fitModel(request(OTHER));
    const projections = registry();
    await projections.refresh();
    const { report: second } = await fitModel(request(OTHER));
    await writeFile(path.join(directory, 'projections', 'maps', String(second.map_version)), 'not a map');
    await projections.refresh();
    expect(projections.mapOf(model(OTHER))?.version).toBe(first.map_version);

    const restarted = registry();
    await restarted.refresh();
    const broken = restarted.mapOf(model(OTHER));
    expect(broken?.space).toBe('canon-v1');
    expect(() => broken?.project(syntheticVectors(model(OTHER), ['a']), 64)).toThrow(
      expect.objectContaining({ code: 'projection_unusable', status: 503 }),
    );
    await expect(activate({ ...context, actor: 'operator:test' }, second.map_version)).rejects.toMatchObject({
      code: 'artifact_corrupt',
    });
  });

  it('maps are evaluated again without any call, with the same figures', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    const { report } = await fitModel(request(OTHER));
    calls.length = 0;
    const map = await findMap(database.sql, report.map_version);
    const again = await evaluateProjection(context, map, new AbortController().signal);
    expect(again).toEqual(report.scores);
    expect(calls).toEqual([]);
  });
});

describe('canaries', () => {
  it('canaries mark a map as stale once the vendor serves another model', async () => {
    await fitModel(request(REFERENCE, { reference: true }));
    const options = { olderThanMs: 0, signal: new AbortController().signal };
    const canaries = { ...context, isServed: () => true };
    expect(await checkCanaries(canaries, options)).toMatchObject([{ isStale: false }]);
    const whole = embed;
    embed = async (call) => (await whole(call)).map((value, i) => value + (i % 7 === 0 ? 0.05 : 0));
    expect(await checkCanaries(canaries, options)).toMatchObject([{ model: REFERENCE, isStale: true }]);
    expect(await listMaps(database.sql)).toMatchObject([{ status: 'stale' }]);
    expect(await checkCanaries(canaries, { ...options, olderThanMs: 60_000 })).toEqual([]);
  });
});
