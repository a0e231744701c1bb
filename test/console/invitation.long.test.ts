import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { createUser } from '../../src/access/users.ts';
import { type FakeIssuer, startFakeIssuer } from '../access/fake-issuer.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let issuer: FakeIssuer;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  issuer = await startFakeIssuer();
  const oidc = { issuer: issuer.url, audience: issuer.audience, client_id: 'console', client_secret: 'its-secret' };
  console = await openConsole({ settings: { oidc } });
});
afterAll(async () => {
  await console?.close();
  await issuer?.close();
});

it.skipIf(!HAS_CHROMIUM)('a person follows an invitation, signs in at the identity provider, and accepts', async () => {
  const { appliance, operator } = console.test;
  await createUser(appliance.sql, operator, { email: 'bea@example.com' });
  const key = await console.test.key({ scopes: SCOPES.filter((scope) => scope !== 'platform_admin'), authLevel: 9 });
  const admin = await console.open('/console/people', { key });
  await admin.page.getByRole('button', { name: 'Invite' }).click();
  await admin.page.getByRole('button', { name: 'Make a link' }).click();
  const link = await admin.page.locator('.secret-once code').innerText();
  await expectGoodLooks(admin.page, 'invitation-link');
  expect(admin.faults).toEqual([]);
  await admin.context.close();

  const { page, context, faults } = await console.open('/console', { key: null });
  issuer.person = 'bea';
  // A change of the fragment alone would not load the page again.
  await page.goto('about:blank');
  await page.goto(link);
  expect(page.url()).not.toContain('invitation');
  await page.getByRole('link', { name: 'Sign in with the identity provider' }).click();
  await page.getByRole('heading', { name: 'Join default?' }).waitFor();
  await expectGoodLooks(page, 'invitation');
  await page.getByRole('button', { name: 'Accept', exact: true }).click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).waitFor();
  const me = await page.evaluate(async () => (await fetch('/v1/me')).json());
  expect(me).toMatchObject({ kind: 'user', user: { email: 'bea@example.com' } });
  // The way to the identity provider is the only one to another origin.
  expect(faults.filter((fault) => !fault.startsWith(`request to ${issuer.url}/authorize?`))).toEqual([]);
  await context.close();
});
