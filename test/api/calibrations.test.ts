import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { recordFailure, recordProgress, recordStart } from '../../src/projection/auto/state-store.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-a/beta';
const ABSENT = 'vendor-b/embedding-001';

let test: TestApi;
let upstream: FakeUpstream;
let admin: string;
let calibration: Service;

beforeAll(async () => {
  upstream = await FakeUpstream.start({ semantic: true, dimensions: { alpha: 128, beta: 96 } });
  test = await openTestApi({
    worker: false,
    settings: {
      projections: { auto: { texts_max: 1000 } },
      providers: { 'vendor-a': { protocol: 'openai', base_url: upstream.baseUrl('openai') } },
      models: [
        { id: ALPHA, vendor: 'vendor-a', dimensions: 128, max_tokens: 8192 },
        { id: BETA, vendor: 'vendor-a', dimensions: 96, max_tokens: 8192 },
      ],
      alias: { 'service-embed-1-small': { default: ALPHA } },
    },
  });
  admin = await test.key({ scopes: ['platform_admin'] });
  calibration = await test.appliance.ingest.autoCalibration();
});
afterAll(async () => {
  await calibration.stop();
  await test.close();
  await upstream.close();
});

const CALIBRATIONS = '/v1/projections/calibrations';
const request = (model: string, key = admin) => test.call('POST', CALIBRATIONS, { key, json: { model } });
const stateOf = async (model: string) => {
  const { body } = await test.call('GET', CALIBRATIONS, { key: admin });
  return body.data.find((each: { model: string }) => each.model === model);
};

it('the list of calibrations shows the progress, and why the last attempt failed', async () => {
  const { sql, embedding } = test.appliance;
  const model = embedding.backends.catalog.find(BETA);
  await recordStart(sql, model, 100);
  await recordProgress(sql, BETA, 40);
  expect(await stateOf(BETA)).toMatchObject({ state: 'calibrating', texts_done: 40, texts_total: 100, retry_at: null });
  expect((await request(BETA)).status).toBe(202);
  expect(await stateOf(BETA)).toMatchObject({ state: 'calibrating', texts_done: 40 });
  await recordFailure(sql, model, 'it did not answer', { firstMs: 60_000, maxMs: 60_000 });
  const failed = { state: 'failed', reason: 'it did not answer', retry_at: expect.any(String) };
  expect(await stateOf(BETA)).toMatchObject(failed);
});

it('a calibration is refused for models that need none or have no vendor, and without the rights', async () => {
  const codeOf = async (model: string) => {
    const { status, body } = await request(model);
    return [status, body.error.code];
  };
  expect(await codeOf('local/lexical-1')).toEqual([409, 'not_semantic']);
  expect(await codeOf('service-embed-1-small')).toEqual([409, 'not_semantic']);
  expect(await codeOf(ABSENT)).toEqual([502, 'provider_unavailable']);
  expect(await codeOf('none')).toEqual([400, 'unknown_model']);
  const key = await test.key({ scopes: ['embed', 'routing:manage'] });
  expect((await request(ALPHA, key)).status).toBe(403);
  expect((await test.call('GET', CALIBRATIONS, { key })).status).toBe(403);
});

it('a model that nothing uses is calibrated on request, at once after a failure', async () => {
  const { status, body } = await request(BETA);
  expect(status).toBe(202);
  expect(body.data).toContainEqual(expect.objectContaining({ model: BETA, state: 'wanted', reason: null }));
  await calibration.start(new AbortController().signal);
  const isCalibrated = async () => {
    const { body: model } = await test.call('GET', `/v1/models/${BETA}`, { key: admin });
    return model.status === 'calibrated';
  };
  await until(isCalibrated, { withinMs: 60_000, everyMs: 100, what: 'the map' });
  expect(await stateOf(BETA)).toBeUndefined();
  const again = await request(BETA);
  expect([again.status, again.body.error.code]).toEqual([409, 'already_calibrated']);
  const audits = await test.appliance.sql`SELECT target FROM audit_log WHERE action = 'model.calibrate'`;
  expect(audits.map(({ target }) => target)).toEqual([BETA, BETA]);
});
