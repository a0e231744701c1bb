import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BrowserContext, chromium, type Page } from 'playwright-core';

const CHROMIUM = '/usr/bin/chromium';
export const HAS_CHROMIUM = existsSync(CHROMIUM);

const FLAGS =
  '--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync';

export interface TestBrowser {
  readonly context: BrowserContext;
  /** Open a page that records its faults: errors on the console, and requests to other origins. */
  page(origin: string): Promise<{ page: Page; faults: string[] }>;
  close(): Promise<void>;
}

/** Start a headless Chromium with an empty profile. */
export async function openBrowser(): Promise<TestBrowser> {
  const profile = mkdtempSync(path.join(tmpdir(), 'browser-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: CHROMIUM,
    headless: true,
    args: FLAGS.split(' '),
  });
  return {
    context,
    async page(origin) {
      const page = await context.newPage();
      const faults: string[] = [];
      page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
      page.on('pageerror', (error) => faults.push(String(error)));
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(origin) && !url.startsWith('data:') && !url.startsWith('blob:'))
          faults.push(`asked ${url}`);
      });
      return { page, faults };
    },
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}
