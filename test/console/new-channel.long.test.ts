import { afterAll, beforeAll, expect, it } from 'vitest';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { SLACK_SECRET, SLACK_TOKEN, slackBody, slackHeaders, startPlatforms } from '../support/platforms.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let fake: FakeMessenger;
beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  const platforms = await startPlatforms();
  fake = platforms.fake;
  console = await openConsole({ worker: false, settings: { channels: platforms.settings } });
});
afterAll(async () => {
  await console?.close();
  await fake?.close();
});

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

it.skipIf(!HAS_CHROMIUM)(
  'a Slack channel is set up, tried, and its deliveries are shown with their reasons',
  async () => {
    const admin = await console.test.key({ scopes: [...ALL_SCOPES] });
    const { page, context, faults } = await console.open('/console/channels', { key: admin });
    await page.getByRole('button', { name: 'New channel' }).click();
    const dialog = page.getByRole('dialog', { name: 'New channel' });
    await dialog.getByLabel('Name', { exact: true }).fill('Team');
    await dialog.getByLabel('Messenger').selectOption('slack');
    await dialog.getByLabel('Signing secret of the app').fill(SLACK_SECRET);
    await dialog.getByLabel('Bot user OAuth token').fill(SLACK_TOKEN);
    await expectGoodLooks(page, 'new-slack-channel');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const shown = page.getByRole('dialog', { name: 'Register this address at the platform' });
    await shown.getByText('Event Subscriptions: enter the address').waitFor();
    await expectGoodLooks(page, 'slack-steps');
    const { pathname } = new URL((await shown.locator('code').textContent()) ?? '');
    await shown.getByRole('button', { name: 'I have registered it' }).click();

    fake.answer = (response) => response.writeHead(200).end('{"ok":false,"error":"invalid_auth"}');
    await page.getByRole('link', { name: 'Try one' }).click();
    await page.getByLabel('Channel', { exact: true }).selectOption({ label: 'Team' });
    await page.getByLabel('Message', { exact: true }).fill('opening hours');
    await page.keyboard.press('Enter');
    await page.getByRole('list', { name: 'Messages' }).getByText('I found nothing about that').waitFor();
    await page.getByText('The platform refuses the token of the channel: invalid_auth').waitFor();

    const body = JSON.stringify(slackBody('opening hours', 1));
    const headers = { 'Content-Type': 'application/json', ...slackHeaders(SLACK_SECRET, body) };
    await console.test.call('POST', pathname, { headers, body });
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.getByRole('cell', { name: 'invalid_auth' }).waitFor({ timeout: 30_000 });
    await expectGoodLooks(page, 'later-deliveries');
    expect(await page.content()).not.toContain(SLACK_TOKEN);
    expect(faults).toEqual([]);
    await context.close();
  },
);
