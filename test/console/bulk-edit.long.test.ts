import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
beforeAll(async () => {
  if (HAS_CHROMIUM) console = await openConsole({ worker: false });
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('chosen documents are edited together, and the change is shown before it is made', async () => {
  const manager = await console.test.key({ scopes: [...ALL_SCOPES], authLevel: 10 });
  const name = { name: 'edited' };
  const { body: bucket } = await console.test.call('POST', '/v1/buckets', { key: manager, json: name });
  const ids: Record<string, string> = {};
  for (const filename of ['plan.txt', 'offer.txt', 'menu.txt']) {
    const json = { filename, text: `About ${filename}`, metadata: { team: 'port', draft: 'yes' } };
    const { body } = await console.test.call('POST', `/v1/buckets/${bucket.id}/documents`, { key: manager, json });
    ids[filename] = body.id;
  }
  const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`, { key: manager });
  await page.getByLabel('Select plan.txt').check();
  await page.getByLabel('Select offer.txt').check();
  await page.getByRole('button', { name: 'Edit metadata' }).click();
  const dialog = page.getByRole('dialog', { name: 'Edit 2 documents' });
  await dialog.getByLabel('Key').fill('season');
  await dialog.getByLabel('Value').fill('winter');
  await dialog.getByRole('button', { name: 'Add a key' }).click();
  await dialog.getByLabel('Key').last().fill('draft');
  await dialog.getByLabel('Privacy level').fill('3');
  await dialog.getByRole('button', { name: 'Show what it would change' }).click();
  await dialog.getByText('season: – → winter').first().waitFor();
  expect(await dialog.getByText('draft: yes → –').count()).toBe(2);
  expect(await dialog.getByText('Privacy level: 1 → 3').count()).toBe(2);
  await expectGoodLooks(page, 'documents-bulk-edit');
  await dialog.getByLabel('Review').selectOption('approved');
  expect(await dialog.getByRole('button', { name: 'Apply the change' }).count()).toBe(0);
  await dialog.getByRole('button', { name: 'Show what it would change' }).click();
  await dialog.getByText('Review: pending → approved').first().waitFor();
  await dialog.getByRole('button', { name: 'Apply the change' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('2 documents were changed, 0 were left as they are.').waitFor();
  const stateOf = async (filename: string) => {
    const { body } = await console.test.call('GET', `/v1/documents/${ids[filename]}`, { key: manager });
    return [body.metadata, body.privacy_level, body.review_status];
  };
  expect(await stateOf('plan.txt')).toEqual([{ team: 'port', season: 'winter' }, 3, 'approved']);
  expect(await stateOf('menu.txt')).toEqual([{ team: 'port', draft: 'yes' }, 1, 'pending']);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a caller who may not change metadata is offered no editing of chosen documents', async () => {
  const reader = await console.test.key({ scopes: ['search', 'documents:write'], authLevel: 10 });
  const json = { filename: 'note.txt', text: 'A note.' };
  await console.test.call('POST', '/v1/buckets/default/documents', { key: reader, json });
  const { body } = await console.test.call('GET', '/v1/buckets/default', { key: reader });
  const { page, context, faults } = await console.open(`/console/buckets/${body.id}`, { key: reader });
  await page.getByLabel('Select note.txt').check();
  await page.getByRole('button', { name: 'Delete for good' }).waitFor();
  expect(await page.getByRole('button', { name: 'Edit metadata' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});
