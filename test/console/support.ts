import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { buildConsole } from '../../src/console/build.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

const CHROMIUM = '/usr/bin/chromium';
export const HAS_CHROMIUM = existsSync(CHROMIUM);
if (!HAS_CHROMIUM) process.stderr.write(`skipped: ${CHROMIUM} is not installed\n`);

const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

/** Folder for pictures of the pages (`CONSOLE_SCREENSHOTS=docs/console`); unset: none are taken. */
const SCREENSHOTS = process.env['CONSOLE_SCREENSHOTS'];

/** Delay of each answer of the API, at most; it shows what a page does while its data are not there yet. */
const DELAY_MS = Number(process.env['CONSOLE_DELAY_MS'] ?? 0);

const NARROW = { width: 375, height: 812 };
const WIDE = { width: 1280, height: 860 };

/** A service with its console, and a browser. */
export interface ConsoleTest {
  readonly test: TestApi;
  readonly browser: Browser;
  /** Open a page in a browser profile of its own, signed in by a key unless `key` is null. */
  open(address: string, options?: OpenOptions): Promise<OpenPage>;
  close(): Promise<void>;
}

interface OpenOptions {
  readonly key?: string | null;
  readonly locale?: string;
}

export interface OpenPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of scripts, refusals by the content security policy, and requests to other origins. */
  readonly faults: string[];
}

type TestApiOptions = NonNullable<Parameters<typeof openTestApi>[0]>;

export async function openConsole(options: TestApiOptions = {}): Promise<ConsoleTest> {
  await buildConsole();
  const test = await openTestApi(options);
  const browser = await chromium.launch({ executablePath: CHROMIUM, headless: true, args: FLAGS.split(' ') });
  let everything: string | undefined;
  return {
    test,
    browser,
    async open(address, { key, locale = 'en-US' } = {}) {
      const context = await browser.newContext({ locale, viewport: WIDE, reducedMotion: 'reduce' });
      if (DELAY_MS > 0) await delayReplies(context);
      const page = await context.newPage();
      const faults = watch(page, test.api.url);
      everything ??= await test.key({ scopes: [...ALL_SCOPES], authLevel: 10 });
      if (key !== null) await signIn(test, context, key ?? everything);
      await page.goto(test.api.url + address);
      return { page, context, faults };
    },
    async close() {
      await browser.close();
      await test.close();
    },
  };
}

/** Scopes of an organization's own keys: all but that of the operator. */
export const ALL_SCOPES = [
  ...(['embed', 'search', 'documents:write', 'jobs:write', 'buckets:manage', 'channels:manage'] as const),
  ...(['channels:send', 'routing:manage', 'sources:manage', 'workflows:run', 'workflows:manage'] as const),
  ...(['workflows:approve', 'webhooks:manage', 'keys:manage', 'users:manage', 'groups:manage'] as const),
];

/** Put the cookie of a new session into a browser. */
async function signIn(test: TestApi, context: BrowserContext, key: string): Promise<void> {
  const reply = await context.request.post(`${test.api.url}/v1/sessions`, { data: { credential: key } });
  expect(reply.status()).toBe(201);
}

async function delayReplies(context: BrowserContext): Promise<void> {
  await context.route(/\/v[12]\//, async (route) => {
    await delay(Math.random() * DELAY_MS);
    await route.continue().catch(() => undefined); // the page is closed
  });
}

function watch(page: Page, origin: string): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    // The browser reports each status above 399 too, which the pages show in their own words.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      faults.push(`request to ${request.url()}`);
  });
  return faults;
}

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

/** Expect that axe finds nothing (WCAG 2.2 AA). */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  await page.evaluate(axe.source);
  const run =
    "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })";
  const { violations } = (await page.evaluate(run)) as { violations: Violation[] };
  const found = violations.flatMap(({ id, help, nodes }) =>
    nodes
      .slice(0, 3)
      .map(({ html, failureSummary }) => `${what}: ${id} (${help}): ${html.slice(0, 200)} ${failureSummary}`),
  );
  expect(found).toEqual([]);
}

/**
 * Look at a page wide and narrow, light and dark: axe finds nothing, and nothing is wider than the window. With
 * `CONSOLE_SCREENSHOTS` a picture of each is stored.
 */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  for (const [size, viewport] of Object.entries({ wide: WIDE, narrow: NARROW })) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      const what = `${name}-${size}-${colorScheme}`;
      await expectAccessible(page, what);
      const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      expect(`${what}: ${over}`).toBe(`${what}: 0`);
      await takePicture(page, what);
    }
  }
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ colorScheme: 'light' });
}

export async function takePicture(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  await page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`), fullPage: false });
}
