import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

/** Rows of each list, more than one page of any. */
const ROWS = 230;
const PAGE_ROWS = 50;
const CONFIG_PAGE_ROWS = 200;

let console: ConsoleTest;
let key: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole({ worker: false });
  key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  await fill();
});
afterAll(() => console?.close());

async function fill(): Promise<void> {
  const { appliance, operator } = console.test;
  const { sql } = appliance;
  const { orgId } = operator;
  const rows = sql`generate_series(1, ${ROWS}::int) n`;
  const number = sql`lpad(n::text, 4, '0')`;
  await sql`
    INSERT INTO buckets (id, org_id, name, policy) SELECT 'bkt_' || ${number}, ${orgId}, 'a-bucket-' || ${number}, policy
    FROM ${rows}, buckets WHERE org_id = ${orgId} AND name = 'default'`;
  await sql`
    INSERT INTO collections (id, org_id, bucket_id, name)
    SELECT 'col_' || ${number}, ${orgId}, 'bkt_0001', 'collection ' || ${number} FROM ${rows}`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
    SELECT 'src_' || ${number}, ${orgId}, 'bkt_0001', 'source ' || ${number}, 'folder', 'docs', '{}', '{}', 'keep', 1, 'test'
    FROM ${rows}`;
  await sql`
    INSERT INTO workflows (id, org_id, name, latest_version, created_by)
    SELECT 'wfl_' || ${number}, ${orgId}, 'workflow ' || ${number}, 1, 'test' FROM ${rows}`;
  const definition = { inputs: {}, blocks: [{ id: 'note', type: 'template', with: { text: 'a note' } }] };
  await sql`
    INSERT INTO workflow_versions (workflow_id, version, definition, created_by)
    VALUES ('wfl_0001', 1, ${JSON.stringify(definition)}::text::json, 'test')`;
  const actor = `key:${key.split('_')[1]}`;
  await sql`
    INSERT INTO workflow_runs (id, org_id, workflow_id, version, mode, status, actor, auth_level, inputs)
    SELECT 'run_' || ${number}, ${orgId}, 'wfl_0001', 1, 'live', 'completed', ${actor}, 1, '{}' FROM ${rows}`;
  for (let n = 0; n < ROWS; n++) {
    const json = { name: `channel ${n}`, provider: 'other', config: { note: `number ${n}` } };
    await console.test.call('POST', '/v1/channels/configs', { key, json });
  }
}

const inBrowser = it.skipIf(!HAS_CHROMIUM);

/** Press the button for more until the list has no more, and count what each page adds. */
async function countPages(page: Page, list: () => Locator, more: Locator) {
  const counts: number[] = [];
  await list().first().waitFor();
  await more.waitFor();
  for (;;) {
    const shown = await list().count();
    counts.push(shown - counts.reduce((sum, count) => sum + count, 0));
    if ((await more.count()) === 0) return counts;
    await more.click();
    await list().nth(shown).waitFor();
    // The button is there again once the page has been loaded.
    await page.getByText('Loading…').waitFor({ state: 'detached' });
  }
}

inBrowser.each([
  ['buckets', '/console/documents', 'Buckets', ROWS + 1],
  ['collections', '/console/buckets/bkt_0001', 'Collections', ROWS],
  ['sources', '/console/sources', 'Sources', ROWS],
  ['workflows', '/console/workflows', 'Workflows', ROWS],
  ['runs', '/console/workflows/wfl_0001', 'Runs', ROWS],
])('the list of %s shows a page at a time, until it shows every row once', async (_, address, table, total) => {
  const { page, context, faults } = await console.open(address, { key });
  const rows = () => page.getByRole('table', { name: table }).locator('tbody tr');
  const counts = await countPages(page, rows, page.getByRole('button', { name: 'Show more' }));
  expect(counts).toEqual([PAGE_ROWS, PAGE_ROWS, PAGE_ROWS, PAGE_ROWS, total - 4 * PAGE_ROWS]);
  const texts = await rows().allInnerTexts();
  expect(new Set(texts).size).toBe(total);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the list of channels shows a page at a time', async () => {
  const { page, context, faults } = await console.open('/console/channels', { key });
  const channels = () => page.getByRole('button', { name: 'Delete' });
  const counts = await countPages(page, channels, page.getByRole('button', { name: 'Show more' }));
  expect(counts).toEqual([CONFIG_PAGE_ROWS, ROWS - CONFIG_PAGE_ROWS]);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a field that chooses a bucket offers all of them', async () => {
  const { page, context, faults } = await console.open('/console/jobs', { key });
  const options = page.getByLabel('Bucket').locator('option');
  await options.nth(ROWS).waitFor({ state: 'attached' });
  // Each bucket, the one that every organization has, and the choice of all.
  expect(await options.count()).toBe(ROWS + 2);
  await expectGoodLooks(page, 'jobs-many-buckets');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the models of all buckets are read with their list, a page at a time', async () => {
  const { page, context, faults } = await console.open('/console', { key });
  const asked: string[] = [];
  page.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/v1/buckets')) asked.push(pathname);
  });
  await page.goto(`${console.test.api.url}/console/models/buckets`);
  await page.getByRole('table').locator('tbody tr').nth(ROWS).waitFor();
  expect(new Set(asked)).toEqual(new Set(['/v1/buckets']));
  expect(asked.length).toBeLessThanOrEqual(2 * Math.ceil((ROWS + 1) / 200));
  expect(faults).toEqual([]);
  await context.close();
});
