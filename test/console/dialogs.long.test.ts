import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;

beforeAll(async () => {
  if (HAS_CHROMIUM) console = await openConsole();
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

/** Buttons that open a dialog in which something is created, by page, with the name of the first field. */
const CREATING = [
  ['/console/documents', 'New bucket'],
  ['/console/keys', 'New key'],
  ['/console/people', 'Add a person'],
] as const;

inBrowser.each(CREATING)('on %s, "%s" opens a dialog whose first field has the focus', async (path, button) => {
  const { page, context, faults } = await console.open(path);
  await page.getByRole('button', { name: button }).first().click();
  await page.getByRole('dialog').waitFor();
  const focused = await page.evaluate('document.activeElement.tagName + " " + document.activeElement.type');
  expect(focused).toMatch(/^INPUT (text|email)$/);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a name and Enter create a bucket, and Escape asks before it drops what was typed', async () => {
  const { page, context, faults } = await console.open('/console/documents');
  const open = () => page.getByRole('button', { name: 'New bucket' }).first().click();
  await open();
  await page.keyboard.type('typed-and-dropped');
  await page.keyboard.press('Escape');
  await page.getByText('Drop what you have typed?').waitFor();
  await expectGoodLooks(page, 'dialog-leaving');
  await page.getByRole('button', { name: 'Go on' }).click();
  expect(await page.getByRole('dialog').getByRole('textbox').first().inputValue()).toBe('typed-and-dropped');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Drop', exact: true }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await open();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await open();
  await page.keyboard.type('by-keyboard');
  await page.keyboard.press('Enter');
  await page.getByText('by-keyboard').first().waitFor();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});
