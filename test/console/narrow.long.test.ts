import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { ALL_SCOPES, type ConsoleTest, expectAccessible, HAS_CHROMIUM, openConsole, takePicture } from './support.ts';

let console: ConsoleTest;
let key: string;
const LONG_BUCKET = 'a'.repeat(60);
const WIDTHS = [375, 768, 1280] as const;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  key = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
  await console.test.call('POST', '/v1/buckets', { key, json: { name: LONG_BUCKET } });
  await console.test.call('POST', '/v1/users', {
    key,
    json: {
      email: 'a.person.with.a.long.address@harbour-office.example.com',
      role: 'member',
    },
  });
  await console.test.call('POST', '/v1/orgs', { key, json: { name: 'Harbour office', plan: 'enterprise' } });
  const text = 'The harbour has rules about cranes.';
  const documents = [{ id: 'cranes', fileName: 'rules-about-the-cranes-of-the-harbour.md', text }];
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

/** Script that lists the words that are broken in cells other than of names, and the buttons that are cut. */
const FIND_FAULTS = `(() => {
  const found = [];
  for (const cell of document.querySelectorAll('.table td:not(:first-child):not(.main)')) {
    const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1) found.push('broken: ' + word);
      }
    }
    const edge = cell.closest('.table-scroll').getBoundingClientRect().right + 1;
    for (const button of cell.querySelectorAll('.button'))
      if (button.getBoundingClientRect().right > edge) found.push('cut: ' + button.textContent);
  }
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) found.push('wider than the window by ' + (scrollWidth - clientWidth));
  return found;
})()`;

async function expectWholeWords(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    await takePicture(page, `${name}-${width}`);
    expect({ width, faults: await page.evaluate(FIND_FAULTS) }).toEqual({ width, faults: [] });
    await expectAccessible(page, `${name}-${width}`);
  }
}

inBrowser.each([
  ['people', '/console/people', 'harbour-office.example.com'],
  ['organizations', '/console/organizations', 'Harbour office'],
  ['models of buckets', '/console/models/buckets', 'local/lexical-1'],
  ['keys', '/console/keys', 'Never'],
])('no word of the table of %s is broken and no button is cut, at any width', async (name, address, text) => {
  const { page, context, faults } = await console.open(address, { key });
  await page.getByRole('row').filter({ hasText: text }).first().waitFor();
  await expectWholeWords(page, name.replaceAll(' ', '-'));
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser.each(['jobs', 'map'])(
  'a bucket with a long name does not make the page %s wider than the window',
  async (name) => {
    const { page, context, faults } = await console.open(`/console/${name}?bucket=${LONG_BUCKET}`, { key });
    await page.getByRole('option', { name: LONG_BUCKET }).waitFor({ state: 'attached' });
    await expectWholeWords(page, name);
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser('the file name of a search result has at least half of a narrow column', async () => {
  const { page, context, faults } = await console.open(
    '/console/search?bucket=default&q=cranes&mode=hybrid&mode=vector&mode=keyword',
    { key },
  );
  const result = page.getByRole('listitem').filter({ hasText: 'rules-about' }).first();
  await result.getByText(/^Relevance/).waitFor();
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    await takePicture(page, `search-columns-${width}`);
    const share =
      "(() => { const row = document.querySelector('.result > .row'); return row.firstElementChild.offsetWidth / row.offsetWidth; })()";
    expect(Number(await page.evaluate(share))).toBeGreaterThan(0.5);
  }
  expect(faults).toEqual([]);
  await context.close();
});
