import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
beforeAll(async () => {
  if (HAS_CHROMIUM) console = await openConsole({ worker: false });
});
afterAll(() => console?.close());

it.skipIf(!HAS_CHROMIUM)('a key gets limits when it is made, keeps them in an edit, and loses one', async () => {
  const admin = await console.test.key({ scopes: [...ALL_SCOPES] });
  const { page, context, faults } = await console.open('/console/keys', { key: admin });
  await page.getByRole('button', { name: 'New key' }).click();
  const created = page.getByRole('dialog', { name: 'New key' });
  await created.getByLabel('Name', { exact: true }).fill('shop');
  await created.getByText('Limits', { exact: true }).click();
  await created.getByLabel('Single texts a month').fill('1000');
  await created.getByLabel('Searches a minute').fill('60');
  await created.getByRole('group', { name: 'Only these buckets' }).getByLabel('default').check();
  await expectGoodLooks(page, 'key-limits');
  await created.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const shop = async () => {
    const { body } = await console.test.call('GET', '/v1/keys', { key: admin });
    return body.data.find(({ name }: { name: string }) => name === 'shop').limits;
  };
  const { body: bucket } = await console.test.call('GET', '/v1/buckets/default', { key: admin });
  const rest = { requests_per_minute: { search: 60 }, buckets: [bucket.id] };
  expect(await shop()).toEqual({ quotas: { embed: 1000 }, ...rest });
  await page.getByRole('row', { name: /shop/ }).getByRole('button', { name: 'Edit' }).click();
  const edited = page.getByRole('dialog', { name: 'Edit the key shop' });
  expect(await edited.getByLabel('Searches a minute').inputValue()).toBe('60');
  await edited.getByLabel('Single texts a month').fill('');
  await edited.getByRole('button', { name: 'Save' }).click();
  await edited.waitFor({ state: 'detached' });
  expect(await shop()).toEqual(rest);
  expect(faults).toEqual([]);
  await context.close();
});
