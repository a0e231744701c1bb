import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUser } from '../../src/access/users.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

const PASSWORD = 'correct horse battery';

let console: ConsoleTest;
/** Address of the console with a host name, which passkeys need. */
let origin: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole({ worker: false });
  origin = `http://localhost:${new URL(console.test.api.url).port}`;
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

async function open(address: string, locale = 'en-US') {
  const context = await console.browser.newContext({ locale, reducedMotion: 'reduce' });
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${origin}${address}`);
  return { context, page, faults };
}

/** Invite a person; returns the part of the link behind the origin. */
async function invite(email: string): Promise<string> {
  const { appliance, operator } = console.test;
  await createUser(appliance.sql, operator, { email, role: 'admin' });
  const { token } = await appliance.access.invitations.create(operator, email);
  return `/console#invitation=${token.reveal()}`;
}

inBrowser('an invited person chooses a password, adds a passkey, and signs in with it', async () => {
  const { context, page, faults } = await open(await invite('nora@example.com'));
  await page.getByRole('heading', { name: 'Join default?' }).waitFor();
  expect(page.url()).not.toContain('invitation');
  await expectGoodLooks(page, 'invitation');
  await page.getByLabel('New password').fill('nora@example.com');
  await page.keyboard.press('Enter');
  await page.getByText('Choose more different characters').waitFor();
  await page.getByLabel('New password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'nora@example.com' }).click();
  await page.getByRole('heading', { name: 'Your account', level: 1 }).waitFor();
  await page.getByText('There are no passkeys yet').waitFor();
  await expectGoodLooks(page, 'account');
  // A device of the browser in place of a person's: it confirms by itself.
  const devtools = await context.newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    },
  });
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await page.getByLabel('Name').fill('This laptop');
  await page.keyboard.press('Enter');
  await page.getByRole('cell', { name: 'This laptop' }).waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByRole('link', { name: 'nora@example.com' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a person signs in with a password, changes it, and a key still works', async () => {
  const { context, page, faults } = await open(await invite('omar@example.com'));
  await page.getByLabel('New password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'omar@example.com' }).click();
  await page.getByRole('button', { name: 'Change the password' }).click();
  await page.getByLabel('Current password').fill('not the password');
  await page.getByLabel('New password').fill('another long password');
  await page.keyboard.press('Enter');
  await page.getByText('the current password is not right').waitFor();
  await page.getByLabel('Current password').fill(PASSWORD);
  await page.getByLabel('New password').fill('another long password');
  await page.keyboard.press('Enter');
  await page.getByText('The password was changed').waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await expectGoodLooks(page, 'sign-in-password');
  await page.getByLabel('E-mail address').fill('omar@example.com');
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('The address or the password is not right').waitFor();
  await page.getByLabel('Password', { exact: true }).fill('another long password');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'omar@example.com' }).waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('button', { name: 'Use an API key or a user token' }).click();
  await page.getByLabel('API key or user token').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('an administrator resets a password, and the person joins another organization and goes there', async () => {
  const { test } = console;
  const first = await open(await invite('pia@example.com'));
  await first.page.getByLabel('New password').fill(PASSWORD);
  await first.page.keyboard.press('Enter');
  await first.page.getByRole('link', { name: 'pia@example.com' }).waitFor();
  await first.context.close();

  const key = await test.key({
    scopes: ['users:manage', 'documents:write', 'search', 'embed', 'buckets:manage'],
    authLevel: 9,
  });
  const admin = await console.open('/console/people', { key });
  await admin.page
    .getByRole('row', { name: /pia@example.com/ })
    .getByRole('button', { name: 'Reset the password' })
    .waitFor();
  await admin.context.close();
  const { token } = await test.appliance.access.accounts.createReset(test.operator, 'pia@example.com');
  const { context, page, faults } = await open(`/console#reset=${token.reveal()}`, 'ko-KR');
  await page.getByRole('heading', { name: '새 비밀번호 설정' }).waitFor();
  await expectGoodLooks(page, 'password-reset-korean');
  await page.getByLabel('새 비밀번호').fill('another long password');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'pia@example.com' }).waitFor();

  await test.key({ org: 'harbour' });
  const harbour = await test.appliance.access.operator('harbour');
  await createUser(test.appliance.sql, harbour, { email: 'pia@example.com' });
  const invitation = await test.appliance.access.invitations.create(harbour, 'pia@example.com');
  await page.goto(`${origin}/console#invitation=${invitation.token.reveal()}`);
  await page.reload();
  await page.getByText('pia@example.com(으)로 로그인되어 있습니다.').waitFor();
  await page.getByRole('button', { name: '참여' }).click();
  await page.getByRole('link', { name: 'pia@example.com' }).click();
  await page
    .getByRole('row', { name: /default/ })
    .getByRole('button', { name: '이동' })
    .click();
  await page.locator('.account').getByText('default').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a link for a new password that is not valid leads to the sign-in, which explains it', async () => {
  const { context, page, faults } = await open(`/console#reset=${'x'.repeat(43)}`);
  await page.getByLabel('New password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('The link is not valid any more').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
