import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { sendWebhooks } from '../webhooks/support.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let receiver: WebhookReceiver;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  receiver = await WebhookReceiver.start();
  console = await openConsole({ worker: false, settings: { webhooks: { networks: ['127.0.0.1'] } } });
});
afterAll(async () => {
  await console?.close();
  await receiver?.close();
});

it.skipIf(!HAS_CHROMIUM)('a webhook is made, tested, replayed, switched off and deleted in the console', async () => {
  const { page, context } = await console.open('/console/webhooks');
  await page.getByText('There are no webhooks yet').waitFor();
  await page.getByRole('button', { name: 'New webhook' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('orders');
  await dialog.getByLabel('Address').fill(receiver.url);
  await dialog.getByLabel('Events').fill('job.failed, document.ready');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await dialog.getByText('Copy the secret now').waitFor();
  receiver.secret = (await dialog.locator('.secret-once code').textContent()) ?? '';
  await expectGoodLooks(page, 'webhook-secret');
  await dialog.getByRole('button', { name: 'I have stored it' }).click();
  await expectGoodLooks(page, 'webhooks');

  await page.getByRole('link', { name: 'orders' }).click();
  await page.getByText('No events yet').waitFor();
  await page.getByRole('button', { name: 'Send a test event' }).click();
  await page.getByText('A test event is on its way').waitFor();
  await sendWebhooks(console.test);
  await page.reload();
  await page.getByText('webhook.test').waitFor();
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByRole('button', { name: 'Send again' }).waitFor({ state: 'detached' });
  await sendWebhooks(console.test);
  expect(receiver.accepted.map(({ type }) => type)).toEqual(['webhook.test', 'webhook.test']);
  expect(new Set(receiver.accepted.map(({ id }) => id)).size).toBe(1);
  await expectGoodLooks(page, 'webhook');

  await page.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
  await page.getByText('Copy the secret now').waitFor();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.getByRole('button', { name: 'Switch off' }).click();
  await page.getByText('disabled by an administrator').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('There are no webhooks yet').waitFor();
  await context.close();
});
