import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;

beforeAll(async () => {
  if (HAS_CHROMIUM) console = await openConsole();
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser(
  'a wrong key is refused in words beside the field, and a right one opens the page that was asked for',
  async () => {
    const { page, context, faults } = await console.open('/console/jobs', { key: null });
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await expectGoodLooks(page, 'sign-in');
    await page.getByLabel('API key or user token').fill('svc_wrong_key');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not known').waitFor();
    expect(await page.getByLabel('API key or user token').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('API key or user token').fill(await console.test.key({ scopes: ['search'] }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    await page.reload();
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser('signing out ends the session on the server, so that going back shows the sign-in', async () => {
  const { page, context, faults } = await console.open('/console/documents');
  const [cookie] = await context.cookies();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  const reply = await fetch(`${console.test.api.url}/v1/me`, {
    headers: { Cookie: `${cookie?.name}=${cookie?.value}` },
  });
  expect(reply.status).toBe(401);
  await page.goto(`${console.test.api.url}/console/documents`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a one-time link that is not valid is explained, and its token leaves the address at once', async () => {
  const { page, context, faults } = await console.open('/console#link=not-a-token', { key: null });
  await page.getByText('The sign-in link is not valid any more').waitFor();
  expect(page.url()).not.toContain('link');
  await page.getByText('service console link').waitFor();
  await page.getByText(/service keys create --name/).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a browser that prefers Korean gets Korean pages', async () => {
  const { page, context, faults } = await console.open('/console/documents', { key: null, locale: 'ko-KR' });
  await page.getByRole('heading', { name: '로그인' }).waitFor();
  expect(await page.evaluate('document.documentElement.lang')).toBe('ko');
  await expectGoodLooks(page, 'sign-in-korean');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser(
  'what is typed into a form survives the end of the session, and is saved after signing in again',
  async () => {
    const key = await console.test.key({ scopes: ['buckets:manage', 'documents:write'] });
    const { page, context, faults } = await console.open('/console/documents', { key });
    await page.getByRole('button', { name: 'New bucket' }).first().click();
    await page.getByLabel('Name').fill('typed-before-the-end');
    await endSessions(key);
    await page.getByRole('button', { name: 'Create' }).click();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.waitFor();
    expect(await page.locator('dialog').getByLabel('Name').inputValue()).toBe('typed-before-the-end');
    await dialog.getByLabel('API key or user token').fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'typed-before-the-end', level: 1 }).waitFor();
    expect(faults).toEqual([]);
    await context.close();
  },
);

/** Sign out every browser of a key. */
async function endSessions(key: string): Promise<void> {
  const reply = await console.test.call('DELETE', '/v1/sessions', { key });
  expect(reply.status).toBe(204);
}

inBrowser('no page of the console can be framed, stored or guessed, and its policy has no unsafe source', async () => {
  const { page, context } = await console.open('/console');
  const reply = await page.reload();
  const headers = reply?.headers() ?? {};
  expect(headers['content-security-policy']).not.toMatch(/unsafe|\*|http:/);
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(headers['cache-control']).toBe('no-store');
  expect(headers['x-content-type-options']).toBe('nosniff');
  await context.close();
});

inBrowser('the first text of the console is painted within a second of the request on loopback', async () => {
  const { page, context } = await console.open('/console/documents');
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.reload();
  await page.getByRole('heading', { level: 1 }).waitFor();
  const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0";
  process.stderr.write(`first paint after ${Math.round(Number(await page.evaluate(paint)))} ms\n`);
  await context.close();
});
