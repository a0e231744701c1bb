import { afterAll, beforeAll, expect, it } from 'vitest';
import { ERROR_CATEGORIES } from '../../src/jobs/schema.ts';
import { type ConsoleTest, HAS_CHROMIUM, openConsole } from './support.ts';

const ENGLISH = 'an English detail of the failure';
const HANGUL = /[가-힣]/;
let console: ConsoleTest;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole({ worker: false });
  const { sql } = console.test.appliance;
  const { orgId } = console.test.operator;
  const bucket = sql`(SELECT id FROM buckets WHERE org_id = ${orgId} AND name = 'default')`;
  const categories = sql`unnest(${sql.array([...ERROR_CATEGORIES])}::text[]) category`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by,
                         sync_state, error_category, error_message)
    SELECT 'src_' || category, ${orgId}, ${bucket}, category, 'folder', 'docs', '{}', '{}', 'keep', 1, 'test', 'error',
           category, ${ENGLISH}
    FROM ${categories}`;
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, fair_rank, status, s3_key, file_name, file_size, error_category,
                      error_message, completed_at)
    SELECT 'job_' || category, 'sync', ${orgId}, ${bucket}, 1, 'failed', 'k', category, 0, category, ${ENGLISH}, now()
    FROM ${categories}`;
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser.each([
  ['sources', '/console/sources'],
  ['jobs', '/console/jobs'],
])('each category of a failure has a Korean sentence in the list of %s', async (_, address) => {
  const { page, context, faults } = await console.open(address, { locale: 'ko-KR' });
  const rows = page.getByRole('table').first().locator('tbody tr');
  await rows.nth(ERROR_CATEGORIES.length - 1).waitFor();
  const texts = await rows.locator('.sub', { hasText: HANGUL }).allInnerTexts();
  expect(texts.length).toBeGreaterThanOrEqual(ERROR_CATEGORIES.length);
  expect(await page.getByText(ENGLISH).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the page of a source shows the Korean sentence, and the English details below it', async () => {
  const { page, context } = await console.open('/console/sources/src_source_missing', { locale: 'ko-KR' });
  const alert = page.getByRole('alert');
  await alert.getByText('소스의 위치가 없습니다.').waitFor();
  await alert.getByText(ENGLISH).waitFor();
  await context.close();
});

inBrowser('the page of a failed run names its block in Korean', async () => {
  const key = await console.test.key({ scopes: ['workflows:manage', 'workflows:run'], authLevel: 10 });
  const call = (address: string, json: object) => console.test.call('POST', address, { key, json });
  const definition = {
    blocks: [{ id: 'find', type: 'search', with: { bucket: 'missing', query: 'x' } }],
  };
  const created = await call('/v1/workflows', { name: 'failing', definition });
  expect(created.status).toBe(201);
  const { id } = created.body;
  expect((await call(`/v1/workflows/${id}/publish`, {})).status).toBe(200);
  const { body: run } = await call(`/v1/workflows/${id}/run`, { inputs: {}, mode: 'live' });
  expect(run.status).toBe('failed');
  const { page, context } = await console.open(`/console/workflows/${id}/runs/${run.run_id}`, {
    key,
    locale: 'ko-KR',
  });
  await page.getByRole('alert').getByText('find 블록이 실패했습니다.').waitFor();
  await context.close();
});
