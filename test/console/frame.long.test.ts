import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let folder: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  folder = mkdtempSync(path.join(tmpdir(), 'console-frame-'));
  const logo = path.join(folder, 'logo.svg');
  writeFileSync(logo, '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><rect width="1" height="1"/></svg>');
  console = await openConsole({ settings: { console: { name: 'Harbour library', logo } } });
  await ingestAll(console.test.appliance, console.test.operator, 'default', [
    { id: 'cranes', fileName: 'cranes.md', text: 'The warranty of the cranes is two years.' },
  ]);
});
afterAll(async () => {
  if (!HAS_CHROMIUM) return;
  await console.close();
  rmSync(folder, { recursive: true });
});

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('the name and logo of the installation are on every page, and before the sign-in', async () => {
  const { page, context, faults } = await console.open('/console');
  await page.getByRole('link', { name: 'Harbour library' }).waitFor();
  await expect.poll(() => page.title()).toBe('Overview · Harbour library');
  await expect
    .poll(() => page.locator('.sidebar img.brand-mark').evaluate('(image) => image.naturalWidth'))
    .not.toBe(0);
  await context.clearCookies();
  await page.reload();
  await page.getByText('Harbour library').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('Ctrl+K leads to pages, buckets, documents and jobs by keyboard', async () => {
  const { page, context, faults } = await console.open('/console');
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  const field = page.getByRole('combobox', { name: 'Page, bucket, document or job' });
  await page.keyboard.press('Control+k');
  await field.waitFor();
  await page.keyboard.type('usa');
  await page.getByRole('option', { name: 'Usage' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('CRAN');
  await page.getByRole('option', { name: 'cranes.md Document' }).waitFor();
  await page.getByRole('option', { name: 'cranes.md Job' }).waitFor();
  await expectGoodLooks(page, 'palette');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'cranes.md', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Go to' }).click();
  await field.fill('nothing of this name');
  await page.getByText('Nothing was found').waitFor();
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('theme and language are chosen on the page, and stay', async () => {
  const { page, context, faults } = await console.open('/console');
  const background = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
  const light = await background();
  await page.getByLabel('Theme').selectOption('dark');
  expect(await background()).not.toBe(light);
  const dark = await background();
  await page.getByLabel('Language').selectOption('ko');
  await page.getByRole('heading', { name: '개요', level: 1 }).waitFor();
  expect(await background()).toBe(dark);
  await page.reload();
  await page.getByRole('heading', { name: '개요', level: 1 }).waitFor();
  await page.getByLabel('언어').selectOption('en');
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('each page explains itself, and leads to its documentation and its part of the reference', async () => {
  const { page, context, faults } = await console.open('/console/jobs');
  await page.getByText('Help', { exact: true }).click();
  await page.getByText('A failed job shows its reason.').waitFor();
  await expectGoodLooks(page, 'help');
  const documentation = page.getByRole('link', { name: 'Read the documentation' });
  expect(await documentation.getAttribute('href')).toBe('/help/docs/jobs.html');
  const [reference] = await Promise.all([
    context.waitForEvent('page'),
    page.getByRole('link', { name: 'Open the API reference' }).click(),
  ]);
  await reference.locator('#operations-jobs-listJobs.is-open').waitFor();
  await reference.getByRole('button', { name: 'Execute' }).click();
  await reference.getByText('cranes.md').first().waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a window of 2,560 px shows each page without an empty half, and nothing is wider than it', async () => {
  const { page, context, faults } = await console.open('/console');
  await page.setViewportSize({ width: 2560, height: 1440 });
  for (const address of ['/console', '/console/documents', '/console/jobs', '/console/usage', '/console/models']) {
    await page.goto(console.test.api.url + address);
    await page.locator('.panel').first().waitFor();
    const [over, width] = (await page.evaluate(
      '[document.documentElement.scrollWidth - innerWidth, document.querySelector("main").clientWidth]',
    )) as [number, number];
    expect([address, over]).toEqual([address, 0]);
    expect(width).toBeGreaterThan(1280);
  }
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a browser without JavaScript shows a sentence that says what to do', async () => {
  const context = await console.browser.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${console.test.api.url}/console`);
  expect(await page.locator('noscript').innerText()).toContain('This page needs JavaScript. Allow it');
  await context.close();
});

inBrowser('two tabs have one theme, and one that is signed out asks for the key in both', async () => {
  const key = await console.test.key({ scopes: ['search'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console', { key });
  const second = await context.newPage();
  await second.goto(`${console.test.api.url}/console/documents`);
  await second.getByRole('heading', { name: 'Documents', level: 1 }).waitFor();
  await page.getByLabel('Theme').selectOption('dark');
  await second.locator('html[data-theme=dark]').waitFor();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await second.getByRole('link', { name: 'Jobs' }).click();
  const ended = second.getByRole('dialog', { name: 'Your session has ended' });
  await ended.waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
