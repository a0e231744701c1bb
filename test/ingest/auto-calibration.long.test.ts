import { afterEach, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { selectDue } from '../../src/projection/auto/calibrate-models.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';

const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-b/beta';
const TEXTS_MAX = 600;
const CALIBRATED_WITHIN = { withinMs: 120_000, everyMs: 50 };

const never = () => new AbortController().signal;
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function startUpstream(semantic: boolean, dimensions: Record<string, number>): Promise<FakeUpstream> {
  const upstream = await FakeUpstream.start({ semantic, dimensions });
  cleanups.push(() => upstream.close());
  return upstream;
}

/** Open an installation with two vendors; `beside` shares its database and files, as another process does. */
async function open(
  [alpha, beta]: readonly [FakeUpstream, FakeUpstream],
  { fromBuckets = false, beside }: { fromBuckets?: boolean; beside?: TestAppliance } = {},
): Promise<TestAppliance> {
  const providerOf = (upstream: FakeUpstream) => ({
    ...{ protocol: 'openai', base_url: upstream.baseUrl('openai'), concurrency_max: 4, retries_max: 0 },
  });
  const settings = {
    projections: { auto: { enabled: 'on', texts_max: TEXTS_MAX, from_buckets: fromBuckets } },
    providers: { 'vendor-a': providerOf(alpha), 'vendor-b': providerOf(beta) },
    models: [
      { id: ALPHA, vendor: 'vendor-a', dimensions: 128, max_tokens: 8192 },
      { id: BETA, vendor: 'vendor-b', dimensions: 96, max_tokens: 8192 },
    ],
    alias: { 'service-embed-1-small': { default: ALPHA, fallback: BETA } },
  };
  const test = await openTestAppliance(settings, beside ? { beside } : {});
  cleanups.push(() => test.close());
  return test;
}

async function calibrate(...tests: readonly TestAppliance[]): Promise<void> {
  for (const { appliance } of tests) {
    const service: Service = await appliance.ingest.autoCalibration();
    await service.start(never());
    cleanups.push(() => service.stop());
  }
}

/** Select active maps and states of what is not calibrated, by model. */
async function statesOf(sql: Sql): Promise<Record<string, string>> {
  const maps = await sql`SELECT model FROM projection_maps WHERE status = 'active'`;
  const states = await sql`SELECT model, state FROM model_calibrations`;
  return {
    ...Object.fromEntries(states.map((row) => [row['model'], row['state']])),
    ...Object.fromEntries(maps.map((row) => [row['model'], 'calibrated'])),
  };
}

const textsOf = (upstream: FakeUpstream) => upstream.calls.flatMap(({ texts }) => texts);

it('two processes that calibrate at once pay for each text of each model once', async () => {
  const upstreams = [await startUpstream(true, { alpha: 128 }), await startUpstream(true, { beta: 96 })] as const;
  const first = await open(upstreams);
  const second = await open(upstreams, { beside: first });
  await calibrate(first, second);
  const { sql } = first.appliance;
  await until(
    async () => {
      const states = await statesOf(sql);
      return states[ALPHA] === 'calibrated' && states[BETA] === 'calibrated';
    },
    { ...CALIBRATED_WITHIN, what: 'both maps' },
  );
  for (const upstream of upstreams) {
    const texts = textsOf(upstream);
    expect(texts.length).toBeLessThanOrEqual(TEXTS_MAX);
    expect(new Set(texts).size).toBe(texts.length);
  }
  expect(await sql`SELECT model FROM projection_maps ORDER BY model`).toHaveLength(2);
}, 300_000);

it('texts of buckets are sent to the vendors only if from_buckets is set', async () => {
  const upstreams = [await startUpstream(true, { alpha: 128 }), await startUpstream(true, { beta: 96 })] as const;
  const texts = Array.from({ length: 20 }, (_, nth) => `The ledger of harbour ${nth} lists cranes and their loads.`);
  const test = await open(upstreams, { fromBuckets: true });
  const documents = texts.map((text, nth) => ({ id: `doc_${nth}`, fileName: `${nth}.txt`, text }));
  const worker = test.appliance.jobs.worker('ingest');
  await worker.start(never());
  await ingestAll(test.appliance, test.operator, 'default', documents);
  await worker.stop();
  const [, beta] = upstreams;
  expect(textsOf(beta)).toEqual([]);
  await calibrate(test);
  await until(async () => (await statesOf(test.appliance.sql))[BETA] === 'calibrated', {
    ...{ ...CALIBRATED_WITHIN, what: 'the map of the second model' },
  });
  const sent = new Set(textsOf(beta));
  expect(texts.filter((text) => sent.has(text))).toEqual(texts);
  expect(textsOf(beta).length).toBeLessThanOrEqual(TEXTS_MAX);
}, 300_000);

it('a model whose map does not pass the gate stays apart, and is not due again for a day', async () => {
  const upstreams = [await startUpstream(true, { alpha: 128 }), await startUpstream(false, { beta: 96 })] as const;
  const test = await open(upstreams);
  const { sql } = test.appliance;
  await calibrate(test);
  await until(async () => (await statesOf(sql))[BETA] === 'apart', { ...CALIBRATED_WITHIN, what: 'the failed gate' });
  const [state] = await sql`SELECT score, retry_at > now() + interval '23 hours' AS waits FROM model_calibrations`;
  expect(state).toMatchObject({ waits: true, score: expect.any(Number) });
  const [map] = await sql`SELECT status FROM projection_maps WHERE model = ${BETA}`;
  expect(map).toMatchObject({ status: 'inactive' });
  const model = test.appliance.embedding.backends.catalog.find(BETA);
  expect(await selectDue({ sql, isServed: () => true }, [model])).toEqual([]);
  expect((await statesOf(sql))[ALPHA]).toBe('calibrated');
}, 300_000);
