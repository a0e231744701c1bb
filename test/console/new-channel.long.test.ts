import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
beforeAll(async () => {
  if (HAS_CHROMIUM) console = await openConsole({ worker: false });
});
afterAll(() => console?.close());

it.skipIf(!HAS_CHROMIUM)('a KakaoTalk channel is made, and the address to register answers', async () => {
  const admin = await console.test.key({ scopes: [...ALL_SCOPES] });
  const { page, context, faults } = await console.open('/console/channels', { key: admin });
  await page.getByRole('button', { name: 'New channel' }).click();
  const dialog = page.getByRole('dialog', { name: 'New channel' });
  await dialog.getByLabel('Name', { exact: true }).fill('Support');
  await dialog.getByLabel('Messenger').selectOption('kakao');
  expect(await dialog.getByLabel('Id of the bot').count()).toBe(0);
  await expectGoodLooks(page, 'new-channel');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const shown = page.getByRole('dialog', { name: 'Register this address at the platform' });
  await expectGoodLooks(page, 'channel-address');
  const address = new URL((await shown.locator('code').textContent()) ?? '');
  const json = { userRequest: { utterance: 'opening hours', user: { id: 'u' } } };
  const { status, body } = await console.test.call('POST', address.pathname, { json });
  expect([status, body.version]).toEqual([200, '2.0']);
  await shown.getByRole('button', { name: 'I have registered it' }).click();
  await page.getByText('kakao', { exact: true }).waitFor();
  expect(await page.getByText(address.pathname.split('/').at(-1) as string).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});
