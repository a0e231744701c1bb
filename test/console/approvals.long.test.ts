import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

const DEFINITION = {
  inputs: { text: { type: 'string' } },
  blocks: [
    {
      id: 'write',
      type: 'upload_document',
      with: { bucket: 'default', filename: '{{inputs.text}}.txt', text: '{{inputs.text}}' },
    },
  ],
};

let console: ConsoleTest;
let workflow: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  const key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  const json = { name: 'Write a note', definition: DEFINITION };
  workflow = (await console.test.call('POST', '/v1/workflows', { key, json })).body.id;
  await console.test.call('POST', `/v1/workflows/${workflow}/publish`, { key, json: {} });
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

/** Run the workflow live. @returns the address of the page of its run */
async function runLive(key: string, text: string, approvals: Record<string, boolean> = {}): Promise<string> {
  const json = { inputs: { text }, mode: 'live', approvals };
  const { body } = await console.test.call('POST', `/v1/workflows/${workflow}/run`, { key, json });
  return `/console/workflows/${workflow}/runs/${body.run_id}`;
}

/** Count the documents that the workflow wrote. */
async function countWritten(text: string): Promise<number> {
  const rows = await console.test.appliance.sql`SELECT 1 FROM documents WHERE file_name = ${`${text}.txt`}`;
  return rows.length;
}

inBrowser('a run that waits is approved on its page, goes on from there, and is done once', async () => {
  const key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  const waiting = await runLive(key, 'berths');
  const { page, context, faults } = await console.open(`/console/workflows/${workflow}`, { key });
  await page.getByRole('link', { name: 'Show what waits' }).click();
  await page.getByRole('heading', { name: 'Waits for an approval' }).waitFor();
  const group = page.getByRole('group', { name: 'Approve what may be done' });
  await group.getByText('berths.txt', { exact: true }).waitFor();
  await expectGoodLooks(page, 'workflow-waiting');
  expect(await group.getByRole('button', { name: 'Approve and continue' }).isDisabled()).toBe(true);
  expect(await group.getByRole('button', { name: 'Decline' }).isDisabled()).toBe(true);
  await group.getByLabel(/^write/).check();
  await group.getByRole('button', { name: 'Approve and continue' }).click();
  const dialog = page.getByRole('dialog', { name: 'Approve write?' });
  await dialog.getByText(/goes on from here with your rights/).waitFor();
  await expectGoodLooks(page, 'workflow-approve');
  expect(await countWritten('berths')).toBe(0);
  await dialog.getByRole('button', { name: 'Approve and continue' }).click();
  await page.waitForURL((url) => url.pathname !== waiting);
  await page.getByText('completed').first().waitFor();
  expect(await countWritten('berths')).toBe(1);
  await page.getByRole('link', { name: waiting.split('/').at(-1) as string }).click();
  await page.getByText(/has decided, and the run went on: completed/).waitFor();
  expect(await group.count()).toBe(0);
  await page.getByRole('link', { name: 'Show that run' }).click();
  await page.waitForURL((url) => url.pathname !== waiting);
  await page.goto(`${console.test.api.url}/console/workflows/${workflow}`);
  await page.getByText(/^Decided by /).waitFor();
  expect(await page.getByRole('link', { name: 'Show what waits' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('what a run waits for is declined on its page, and is not done', async () => {
  const key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  const waiting = await runLive(key, 'slips');
  const { page, context, faults } = await console.open(waiting, { key });
  const group = page.getByRole('group', { name: 'Approve what may be done' });
  await group.getByLabel(/^write/).check();
  await group.getByRole('button', { name: 'Decline' }).click();
  const dialog = page.getByRole('dialog', { name: 'Decline write?' });
  await dialog.getByRole('button', { name: 'Decline' }).click();
  await page.waitForURL((url) => url.pathname !== waiting);
  await page.getByText(/declined it/).waitFor();
  expect(await countWritten('slips')).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('an approval is refused if somebody else has decided meanwhile, and nothing is done twice', async () => {
  const key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  const admin = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
  const waiting = await runLive(key, 'cranes');
  const { page, context, faults } = await console.open(waiting, { key: admin });
  const group = page.getByRole('group', { name: 'Approve what may be done' });
  await group.getByLabel(/^write/).check();
  await group.getByRole('button', { name: 'Approve and continue' }).click();
  const json = { approvals: { write: true } };
  const path = `${waiting.replace('/console', '/v1')}/approve`;
  expect(await console.test.call('POST', path, { key, json })).toMatchObject({ status: 200 });
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Approve and continue' }).click();
  await dialog
    .getByRole('alert')
    .getByText(/already continued the run/)
    .waitFor();
  expect(await countWritten('cranes')).toBe(1);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('who may not approve sees what a run waits for, and no button', async () => {
  const key = await console.test.key({ scopes: ['search', 'documents:write', 'workflows:run'], authLevel: 10 });
  const { page, context, faults } = await console.open(await runLive(key, 'pilots'), { key });
  await page.getByText(/scopes workflows:run and workflows:approve/).waitFor();
  await page.getByLabel('What write would do').getByText('pilots.txt', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: /Approve/ }).count()).toBe(0);
  expect(await page.getByRole('checkbox').count()).toBe(0);
  await expectGoodLooks(page, 'workflow-waiting-member');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a run of a version that is not published any more cannot be approved', async () => {
  const key = await console.test.key({ scopes: ALL_SCOPES, authLevel: 10 });
  const { page, context, faults } = await console.open(await runLive(key, 'tugs'), { key });
  const group = page.getByRole('group', { name: 'Approve what may be done' });
  await group.getByLabel(/^write/).check();
  await group.getByRole('button', { name: 'Approve and continue' }).click();
  const json = { definition: { ...DEFINITION, output: 'another' } };
  await console.test.call('PUT', `/v1/workflows/${workflow}`, { key, json });
  await console.test.call('POST', `/v1/workflows/${workflow}/publish`, { key, json: {} });
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Approve and continue' }).click();
  await dialog
    .getByRole('alert')
    .getByText(/no longer published/)
    .waitFor();
  await page.reload();
  await page.getByText(/Another version was published since/).waitFor();
  expect(await countWritten('tugs')).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});
