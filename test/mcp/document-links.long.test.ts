import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { connectHttp, REVISIONS, startToolServer, textOf } from './support.ts';

const CHROMIUM = '/usr/bin/chromium';
const HAS_CHROMIUM = existsSync(CHROMIUM);
if (!HAS_CHROMIUM) process.stderr.write(`skipped: ${CHROMIUM} is not installed\n`);

let test: TestApi;
let browser: BrowserContext;
let profile: string;

const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  test = await openTestApi({ settings: { search: { result_links: 'signed' } } });
  const filler = Array.from({ length: 80 }, (_, n) => `word${n}`).join(' ');
  const text = Array.from({ length: 30 }, (_, n) => `# Harbour ${n}\n\nBerth ${n} is for ferries. ${filler}.`).join(
    '\n\n',
  );
  await ingestAll(test.appliance, test.operator, 'default', [{ id: 'harbour', fileName: 'harbour.md', text }]);
  profile = mkdtempSync(path.join(tmpdir(), 'browser-'));
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: FLAGS.split(' '),
  });
});
afterAll(async () => {
  if (!HAS_CHROMIUM) return;
  await browser?.close();
  rmSync(profile, { recursive: true, force: true });
  await test.close();
});

it.skipIf(!HAS_CHROMIUM).each(REVISIONS)(
  'signed addresses of search and fetch open in Chromium at the passage in revision %s',
  async (revision) => {
    const key = await test.key({ scopes: ['search'], authLevel: 5 });
    const server = await startToolServer({ SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key });
    const client = await connectHttp(server.url, revision);
    const found = await client.callTool({ name: 'search', arguments: { query: 'Berth 21 ferries' } });
    const [first] = JSON.parse(textOf(found)).results;
    const fetched = JSON.parse(textOf(await client.callTool({ name: 'fetch', arguments: { id: first.id } })));
    for (const { url } of [first, fetched]) {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      const reply = await page.goto(url);
      expect(reply?.status()).toBe(200);
      const cited = page.locator('section.cited');
      expect(await cited.innerText()).toContain('Berth');
      expect(fetched.text).toContain((await cited.locator('.text').innerText()).split('\n').at(-1)?.slice(0, 40));
      // The browser went to the passage, which is far below the top.
      expect(await page.evaluate("document.querySelector('section.cited').matches(':target')")).toBe(true);
      const place = await cited.boundingBox();
      expect(place !== null && place.y >= 0 && place.y < 720).toBe(true);
      // The style sheet passes the page's own content security policy.
      const border = "getComputedStyle(document.querySelector('section.cited')).borderLeftStyle";
      expect(await page.evaluate(border)).toBe('solid');
      expect(faults).toEqual([]);
      await page.close();
    }
  },
);
