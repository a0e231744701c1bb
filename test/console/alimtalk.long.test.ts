import { afterAll, beforeAll, expect, it } from 'vitest';
import { deliver } from '../support/channels.ts';
import { FakeSens } from '../support/fake-senders/fake-sens.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

const fake = new FakeSens();
let console: ConsoleTest;
beforeAll(async () => {
  await fake.start();
  const channels = { reply_deadline_seconds: 60, keep_questions: true, sens: { base_url: fake.url } };
  if (HAS_CHROMIUM) console = await openConsole({ worker: false, settings: { channels } });
});
afterAll(async () => {
  await console?.close();
  await fake.close();
});

it.skipIf(!HAS_CHROMIUM)('an Alimtalk channel is made, and a notification is checked, sent and cancelled', async () => {
  const admin = await console.test.key({ scopes: [...ALL_SCOPES] });
  const { page, context, faults } = await console.open('/console/channels', { key: admin });
  await page.getByRole('button', { name: 'New channel' }).click();
  const dialog = page.getByRole('dialog', { name: 'New channel' });
  await dialog.getByLabel('Name', { exact: true }).fill('Orders');
  await dialog.getByLabel('Messenger').selectOption('sens');
  expect(await dialog.getByLabel('Answered from').count()).toBe(0);
  await dialog.getByLabel('Access key').fill(fake.config.access_key);
  await dialog.getByLabel('Secret key').fill(fake.config.secret_key);
  await dialog.getByLabel('Id of the service').fill(fake.config.service_id);
  await dialog.getByLabel('KakaoTalk channel').fill(fake.config.channel_id);
  await dialog.getByLabel('Send a text message').check();
  await dialog.getByLabel('Number of the sender').fill('02-1234-5678');
  await expectGoodLooks(page, 'new-alimtalk-channel');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByText('sens', { exact: true }).waitFor();
  expect(await page.content()).not.toContain('canary');

  await page.getByRole('link', { name: 'Outbox' }).click();
  await page.getByRole('button', { name: 'Send a notification' }).click();
  const form = page.getByRole('dialog', { name: 'Send a notification' });
  await form.getByLabel('Telephone number').fill('010-1234-5678');
  await form.getByLabel('Code of the template').fill('ORDER');
  await form.getByRole('button', { name: 'Check without sending' }).click();
  await form.getByText('lacks name, number').waitFor();
  await form.getByLabel('Key').fill('name');
  await form.getByLabel('Value').fill('민수');
  await form.getByRole('button', { name: 'Add a key' }).click();
  await form.getByLabel('Key').nth(1).fill('number');
  await form.getByLabel('Value').nth(1).fill('7');
  await form.getByRole('button', { name: 'Check without sending' }).click();
  await form.getByText('민수님, 주문 7이 접수되었습니다.').waitFor();
  expect(fake.sends).toEqual([]);
  await expectGoodLooks(page, 'checked-notification');
  fake.instead = () => ({ status: 503, body: {} });
  await form.getByRole('button', { name: 'Send', exact: true }).click();
  await form.getByText('the outbox keeps it').waitFor();
  expect(await form.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true);
  await form.getByRole('button', { name: 'Close' }).click();
  await form.getByRole('button', { name: 'Drop' }).click();
  await form.waitFor({ state: 'hidden' });
  await page.getByText('http_503', { exact: true }).waitFor();
  await expectGoodLooks(page, 'outbox');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Cancel it' }).click();
  await page.getByText('cancelled', { exact: true }).waitFor();
  expect(faults.filter((fault) => !fault.includes('502') && !fault.includes('400'))).toEqual([]);
  await context.close();
});

it.skipIf(!HAS_CHROMIUM)('unanswered questions are shown as numbers and texts', async () => {
  const admin = await console.test.key({ scopes: [...ALL_SCOPES] });
  const config = { rest_api_key: 'k', channel_id: '@shop', collection: 'default', bot_id: 'bot-1' };
  const secret = 'signing-secret-canary-0123456789';
  const json = { name: 'Support', provider: 'messenger', config: { ...config, secret } };
  await console.test.call('POST', '/v1/channels/configs', { key: admin, json });
  await deliver(console.test, { utterance: 'is there a pool?', user_id: 'u' });
  const { page, context, faults } = await console.open('/console/channels/unanswered', { key: admin });
  await page.getByText('is there a pool?').waitFor();
  await page.getByRole('cell', { name: 'Support' }).first().waitFor();
  await expectGoodLooks(page, 'unanswered');
  expect(faults).toEqual([]);
  await context.close();
});
