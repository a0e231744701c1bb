import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUser } from '../../src/access/users.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  const { appliance, operator } = console.test;
  await ingestAll(appliance, operator, 'default', [{ id: 'note', fileName: 'note.txt', text: 'A note.' }]);
  for (const email of ['ana@example.com', 'ben@example.com']) await createUser(appliance.sql, operator, { email });
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('a group is made, its members change, and a document names it', async () => {
  const { page, context, faults } = await console.open('/console/people');
  await page.getByRole('link', { name: 'Groups' }).click();
  await page.getByText('There are no groups yet').waitFor();
  await page.getByRole('button', { name: 'New group' }).click();
  const dialog = page.getByRole('dialog', { name: 'New group' });
  await dialog.getByLabel('Name').fill('legal');
  await dialog.getByLabel('Members').fill('ana@example.com, nobody@example.com');
  await page.keyboard.press('Enter');
  await dialog.getByText('has no user "nobody@example.com"').waitFor();
  await expectGoodLooks(page, 'groups-refused');
  await dialog.getByLabel('Members').fill('ana@example.com');
  await page.keyboard.press('Enter');
  const row = page.getByRole('row').filter({ hasText: 'legal' });
  await row.getByRole('button', { name: 'Members' }).click();
  const members = page.getByRole('dialog', { name: 'Members of legal' });
  await members.getByRole('cell', { name: 'ana@example.com' }).waitFor();
  await members.getByLabel('Add members').fill('ben@example.com');
  await page.keyboard.press('Enter');
  await members.getByRole('cell', { name: 'ben@example.com' }).waitFor();
  await expectGoodLooks(page, 'groups-members');
  await members.getByRole('row').filter({ hasText: 'ana@example.com' }).getByRole('button', { name: 'Remove' }).click();
  await members.getByRole('cell', { name: 'ana@example.com' }).waitFor({ state: 'detached' });
  await members.getByRole('button', { name: 'Close' }).last().click();
  await expectGoodLooks(page, 'groups');
  expect(await row.getByRole('cell', { name: '1', exact: true }).count()).toBe(1);

  const { data } = (await console.test.call('GET', '/v1/buckets/default/documents', { key: await everything() })).body;
  await page.goto(`${console.test.api.url}/console/documents/${data[0].id}`);
  const panel = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Access' }) });
  await panel.getByRole('button', { name: 'Edit' }).click();
  const form = page.getByRole('form', { name: 'Access' });
  await form.getByLabel('Groups').fill('legal');
  await expectGoodLooks(page, 'document-access-form');
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('access does not name you or a group of yours').waitFor();
  await page.getByText('This does not exist, or not any more').waitFor();
  expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  expect(await page.getByText('access does not name you or a group of yours').count()).toBe(1);
  await expectGoodLooks(page, 'document-access-lost');
  const [document] = await console.test.appliance.sql`SELECT access_list FROM documents WHERE id = ${data[0].id}`;
  expect(document?.['access_list']).toEqual(['group:legal']);
  expect(faults).toEqual([]);
  await context.close();
});

const everything = () => console.test.key({ scopes: ['platform_admin'], authLevel: 10 });
