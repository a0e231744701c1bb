import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, HAS_CHROMIUM, openConsole } from './support.ts';

/** Rows of each list; a page of it has 50. */
const ROWS = 180;

let console: ConsoleTest;
let key: string;
let bucketId: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole({ worker: false });
  key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  const { appliance, operator } = console.test;
  const { sql } = appliance;
  const [bucket] = await sql`SELECT id FROM buckets WHERE org_id = ${operator.orgId} AND name = 'default'`;
  bucketId = bucket?.['id'] as string;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status)
    SELECT 'doc_' || lpad(n::text, 26, '0'), ${operator.orgId}, ${bucketId}, 'file-' || n || '.txt', 'txt', 1, '\\x00',
           'k', '{}', 'failed' FROM generate_series(1, ${ROWS}::int) n`;
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size,
                      completed_at)
    SELECT 'job_' || lpad(n::text, 8, '0'), 'ingest', ${operator.orgId}, ${bucketId},
           'doc_' || lpad(n::text, 26, '0'), n, 'failed', 'k', 'file-' || n || '.txt', 1, now()
    FROM generate_series(1, ${ROWS}::int) n`;
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

const rowsOf = (page: Page) => page.getByRole('row').filter({ hasText: /file-/ });
const scrolledTo = async (page: Page) => Number(await page.evaluate('Math.round(scrollY)'));

/** Load pages of a list until it shows a number of rows. */
async function showMore(page: Page, rows: number): Promise<void> {
  await rowsOf(page).first().waitFor();
  while ((await rowsOf(page).count()) < rows) {
    const shown = await rowsOf(page).count();
    await page.getByRole('button', { name: 'Show more' }).click();
    await rowsOf(page).nth(shown).waitFor();
  }
}

/** Open the row in the middle of the window. @returns where the list is scrolled to */
async function openRow(page: Page, at: number): Promise<{ name: string; top: number }> {
  const link = rowsOf(page).nth(at).getByRole('link').first();
  await link.evaluate((element: { scrollIntoView(options: object): void }) =>
    element.scrollIntoView({ block: 'center' }),
  );
  const name = await link.innerText();
  const top = await scrolledTo(page);
  await link.click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
  return { name, top };
}

/** Expect that a list shows again what it showed, at the same place. */
async function expectReturned(page: Page, rows: number, { name, top }: { name: string; top: number }): Promise<void> {
  await rowsOf(page)
    .nth(rows - 1)
    .waitFor();
  expect(await rowsOf(page).count()).toBe(rows);
  await expect.poll(() => scrolledTo(page), { timeout: 5000 }).toBe(top);
  const link = page.getByRole('link', { name, exact: true });
  const box = await link.boundingBox();
  expect(box?.y).toBeGreaterThan(0);
  expect(box?.y).toBeLessThan(page.viewportSize()?.height ?? 0);
}

inBrowser.each([
  ['documents of a bucket', () => `/console/buckets/${bucketId}`],
  ['jobs', () => '/console/jobs'],
  ['jobs in a state', () => '/console/jobs?status=failed'],
])('going back to the list of %s returns to its place and its loaded pages', async (_, address) => {
  const { page, context, faults } = await console.open(address(), { key });
  await showMore(page, 150);
  const left = await openRow(page, 130);
  expect(left.top).toBeGreaterThan(2000);
  expect(await scrolledTo(page)).toBe(0);
  await page.goBack();
  await expectReturned(page, 150, left);
  // From the list once more, by the browser's other button, and after the page was loaded anew.
  await page.goForward();
  await page.getByRole('heading', { name: left.name, level: 1 }).waitFor();
  expect(await scrolledTo(page)).toBe(0);
  await page.goBack();
  await expectReturned(page, 150, left);
  await page.reload();
  await expectReturned(page, 150, left);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a list that is opened by a link begins at its first page', async () => {
  const { page, context, faults } = await console.open('/console/jobs', { key });
  await showMore(page, 100);
  await openRow(page, 90);
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Jobs' }).click();
  await rowsOf(page).nth(49).waitFor();
  expect(await rowsOf(page).count()).toBe(50);
  expect(await scrolledTo(page)).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('whoever scrolls while a list is loaded again stays where they are', async () => {
  const { page, context, faults } = await console.open('/console/jobs', { key });
  await showMore(page, 150);
  await openRow(page, 130);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(/\/v1\/jobs\?.*cursor/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goBack();
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, 10);
  letGo();
  await rowsOf(page).nth(149).waitFor();
  expect(await scrolledTo(page)).toBeLessThan(300);
  expect(faults).toEqual([]);
  await context.close();
});
