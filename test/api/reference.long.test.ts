import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { HAS_CHROMIUM, openBrowser, type TestBrowser } from '../support/browser.ts';
import { signIn } from '../support/sessions.ts';

if (!HAS_CHROMIUM) process.stderr.write('skipped: /usr/bin/chromium is not installed\n');

let test: TestApi;
let browser: TestBrowser;
beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  test = await openTestApi({ worker: false });
  browser = await openBrowser();
});
afterAll(async () => {
  if (!HAS_CHROMIUM) return;
  await browser.close();
  await test.close();
});

const WAIT = { timeout: 60_000 };

it.skipIf(!HAS_CHROMIUM)(
  'in Chromium the reference lists the routes and sends a request with the key of its reader',
  async () => {
    const key = await test.key({ scopes: ['search'] });
    const { page, faults } = await browser.page(test.api.url);
    await page.goto(`${test.api.url}/docs`, WAIT);
    await page.locator('.opblock-tag').first().waitFor(WAIT);
    expect(await page.locator('.opblock-tag').count()).toBeGreaterThan(15);
    await page.locator('.auth-wrapper .authorize').first().click(WAIT);
    await page.locator('.dialog-ux input[aria-label="auth-bearer-value"]').first().fill(key, WAIT);
    await page.locator('.dialog-ux .modal-btn.authorize').first().click(WAIT);
    await page.locator('.dialog-ux .btn-done').first().click(WAIT);
    await page.locator('#operations-tag-me button.expand-operation').click(WAIT);
    const me = page.locator('#operations-me-getMe');
    await me.locator('.opblock-summary-control').click(WAIT);
    await me.locator('.execute').click(WAIT);
    const status = me.locator('.live-responses-table tr.response .response-col_status').first();
    await status.waitFor(WAIT);
    expect(await status.innerText()).toContain('200');
    expect(await me.locator('.live-responses-table').innerText()).toContain(key.split('_')[1] as string);
    expect(faults).toEqual([]);
    await page.close();
  },
  180_000,
);

it.skipIf(!HAS_CHROMIUM)(
  'in Chromium the reference uses the session of the console, with its CSRF token',
  async () => {
    const { cookie } = await signIn(test, { credential: await test.key({ scopes: ['buckets:manage'] }) });
    const [name = '', value = ''] = cookie.split('=');
    await browser.context.addCookies([{ name, value, url: test.api.url, httpOnly: true, sameSite: 'Strict' }]);
    const { page, faults } = await browser.page(test.api.url);
    await page.goto(`${test.api.url}/docs#/buckets/createBucket`, WAIT);
    const create = page.locator('#operations-buckets-createBucket');
    await create
      .locator('textarea')
      .first()
      .fill(JSON.stringify({ name: 'from-the-reference' }), WAIT);
    await create.locator('.execute').click(WAIT);
    const status = create.locator('.live-responses-table tr.response .response-col_status').first();
    await status.waitFor(WAIT);
    expect(await status.innerText()).toContain('201');
    expect(faults).toEqual([]);
    await page.close();
  },
  180_000,
);
