import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { recordFailure, recordProgress, recordStart } from '../../src/projection/auto/state-store.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-a/beta';
let console: ConsoleTest;
let upstream: FakeUpstream;
let calibration: Service;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  upstream = await FakeUpstream.start({ semantic: true, dimensions: { alpha: 128, beta: 96 } });
  console = await openConsole({
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
  calibration = await console.test.appliance.ingest.autoCalibration();
});
afterAll(async () => {
  await calibration?.stop();
  await console?.close();
  await upstream?.close();
});

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('an operator calibrates a model, and sees the progress and the map', async () => {
  const { sql, embedding } = console.test.appliance;
  const key = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/models/calibration', { key });
  const panel = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Calibrate a model' }) });
  const row = panel.getByRole('listitem').filter({ hasText: BETA });
  await panel.getByLabel('Model', { exact: true }).selectOption(BETA);
  await panel.getByRole('button', { name: 'Calibrate' }).click();
  await row.getByText('queued').waitFor();
  const model = embedding.backends.catalog.find(BETA);
  await recordStart(sql, model, 1000);
  await recordProgress(sql, BETA, 400);
  await recordFailure(sql, embedding.backends.catalog.find(ALPHA), 'the vendor did not answer', {
    firstMs: 1,
    maxMs: 1,
  });
  await row.getByText('400 / 1,000').waitFor();
  await panel.getByText('the vendor did not answer').waitFor();
  await expectGoodLooks(page, 'models-calibrations');
  await calibration.start(new AbortController().signal);
  await row.waitFor({ state: 'detached', timeout: 60_000 });
  await page.getByRole('cell', { name: /^vendor-a\/beta · version \d/ }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a caller who is no operator is offered no calibration', async () => {
  const { page, context, faults } = await console.open('/console/models/calibration');
  await page.getByRole('heading', { name: 'Maps into the canonical space' }).waitFor();
  expect(await page.getByRole('button', { name: 'Calibrate' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});
