import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let key: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  key = await console.test.key({ scopes: ['documents:write', 'buckets:manage', 'jobs:write'], authLevel: 10 });
  const documents = Array.from({ length: 8 }, (_, n) => ({
    id: `note-${n}`,
    fileName: `note-${n}.txt`,
    text: `Note ${n} about the harbour.`,
    metadata: { team: n < 3 ? 'port' : 'office' },
  }));
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('a new job appears in the open list by itself, and is repeated and removed from its page', async () => {
  const { page, context, faults } = await console.open('/console/jobs');
  await page.getByRole('link', { name: 'note-0.txt' }).waitFor();
  await expectGoodLooks(page, 'jobs');
  const upload = { filename: 'came-later.txt', text: 'Uploaded while the list of jobs is open.' };
  await console.test.call('POST', '/v1/buckets/default/documents', { key, json: upload });
  const row = page.getByRole('row').filter({ hasText: 'came-later.txt' });
  await row.getByText('ready').waitFor();
  await row.getByRole('link', { name: 'default' }).waitFor();
  await row.getByRole('link', { name: 'came-later.txt' }).click();
  await page.getByRole('heading', { name: 'came-later.txt', level: 1 }).waitFor();
  await expectGoodLooks(page, 'job');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Original' }).click();
  expect((await download).suggestedFilename()).toBe('came-later.txt');
  const before = page.url();
  await page.getByRole('button', { name: 'Process again' }).click();
  await page.waitForURL((url) => url.href !== before);
  await page.getByText('ready').waitFor();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('chosen jobs are processed again together', async () => {
  for (const filename of ['first.txt', 'second.txt']) {
    const json = { filename, text: `The text of ${filename}.` };
    await console.test.call('POST', '/v1/buckets/default/documents', { key, json });
  }
  const { page, context, faults } = await console.open('/console/jobs');
  const row = (name: string) => page.getByRole('row').filter({ hasText: name });
  await row('first.txt').getByText('ready').waitFor();
  await row('second.txt').getByText('ready').waitFor();
  await page.getByLabel('Select first.txt').check();
  await page.getByLabel('Select second.txt').check();
  await expectGoodLooks(page, 'jobs-selection');
  await page.getByRole('button', { name: 'Process again' }).click();
  await page.getByText('Done for 2').waitFor();
  await row('first.txt').nth(1).waitFor();
  await row('second.txt').nth(1).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a queued job is cancelled from its page', async () => {
  const { appliance } = console.test;
  const upload = { filename: 'cancelled.txt', text: 'Cancelled before it runs.' };
  const { body } = await console.test.call('POST', '/v1/buckets/default/documents', { key, json: upload });
  // Nobody claims it: its turn comes in an hour.
  await appliance.sql`UPDATE jobs SET status = 'queued', scheduled_at = now() + interval '1 hour', worker_id = NULL,
    lease_expires_at = NULL, completed_at = NULL, fence = fence + 1 WHERE id = ${body.job_id}`;
  await appliance.sql`UPDATE jobs SET started_at = NULL WHERE id = ${body.job_id}`;
  const { page, context, faults } = await console.open(`/console/jobs/${body.job_id}`);
  expect(await page.locator('dt', { hasText: 'Attempts' }).locator('+ dd').innerText()).toBe('0');
  await page.getByRole('button', { name: 'Cancel the job' }).click();
  await page.getByText('cancelled', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a fault of a statement is shown at its column, where the cursor then is', async () => {
  const { page, context, faults } = await console.open('/console/metadata');
  const editor = page.getByLabel('Statement', { exact: true });
  await editor.fill("SELECT documents WHERE team == 'port'");
  await page.keyboard.press('Control+Enter');
  await page.getByText(/^Line 1, column \d+$/).waitFor();
  const column = Number(/column (\d+)/.exec(await page.getByText(/^Line 1, column \d+$/).innerText())?.[1]);
  expect(await page.evaluate('document.activeElement.selectionStart')).toBe(column - 1);
  await expectGoodLooks(page, 'metadata-fault');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a statement that is run before the buckets are loaded runs once they are', async () => {
  const { page, context, faults } = await console.open('/console/search');
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(/\/v1\/buckets(\?.*)?$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`${console.test.api.url}/console/metadata`);
  await page.getByLabel('Statement', { exact: true }).fill("SELECT documents WHERE team == 'port'");
  await page.keyboard.press('Control+Enter');
  letGo();
  await page.getByText(/^Line 1, column \d+$/).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('keys are completed while typing, by keyboard', async () => {
  const { page, context, faults } = await console.open('/console/metadata');
  const editor = page.getByLabel('Statement', { exact: true });
  await editor.fill('');
  await editor.pressSequentially('SEL');
  await page.getByRole('option', { name: /SELECT documents WHERE/ }).waitFor();
  await page.keyboard.press('Tab');
  await editor.pressSequentially('class');
  await page.getByRole('option', { name: /classification/ }).waitFor();
  await page.keyboard.press('Enter');
  expect(await editor.inputValue()).toBe('SELECT documents WHERE classification');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a change is previewed, then executed, and the preview is void once the statement is edited', async () => {
  const user = await console.test.key({ scopes: ['documents:write', 'buckets:manage'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/metadata', { key: user });
  const editor = page.getByLabel('Statement', { exact: true });
  await editor.fill("UPDATE documents SET season = 'winter', privacy_level = 4 WHERE team = 'port'");
  await page.getByLabel(/Make the vectors/).uncheck();
  await page.getByRole('button', { name: 'Show what it would change' }).click();
  await page.getByText('3 documents match.').waitFor();
  await page.getByText('season: – → winter').first().waitFor();
  expect(await page.getByText('Privacy level: 1 → 4').count()).toBe(3);
  await expectGoodLooks(page, 'metadata');
  await editor.press('End');
  await editor.pressSequentially(' LIMIT 2');
  await page.getByRole('button', { name: 'Execute' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Show what it would change' }).click();
  await page.getByText('The first 2 of the documents that match.').waitFor();
  await page.getByRole('button', { name: 'Execute' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Execute' }).click();
  await page.getByText(/2 documents were changed/).waitFor();
  const found = { statement: "SELECT documents WHERE season = 'winter'", dry_run: true };
  const { body } = await console.test.call('PATCH', '/v1/buckets/default/documents/metadata/bulk', {
    key,
    json: found,
  });
  expect(body.matched).toBe(2);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('an unfinished statement is still there after the page was loaded anew', async () => {
  const { page, context, faults } = await console.open('/console/metadata');
  await page.getByLabel('Statement', { exact: true }).fill("UPDATE documents SET a = 'half-writ");
  await page.reload();
  expect(await page.getByLabel('Statement', { exact: true }).inputValue()).toBe("UPDATE documents SET a = 'half-writ");
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('jobs and statements speak Korean', async () => {
  const { page, context, faults } = await console.open('/console/jobs', { locale: 'ko-KR' });
  await page.getByRole('row').filter({ hasText: 'note-0.txt' }).getByText('완료').waitFor();
  await page.getByRole('link', { name: '메타데이터' }).click();
  await page.getByRole('heading', { name: '메타데이터', level: 1 }).waitFor();
  await expectGoodLooks(page, 'metadata-korean');
  expect(faults).toEqual([]);
  await context.close();
});
