import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { ALL_SCOPES, type ConsoleTest, expectAccessible, HAS_CHROMIUM, openConsole, takePicture } from './support.ts';

let console: ConsoleTest;
let key: string;
let run: string;
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
  await fillConnections();
  const text = 'The harbour has rules about cranes.';
  const documents = [{ id: 'cranes', fileName: 'rules-about-the-cranes-of-the-harbour.md', text }];
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(() => console?.close());

const LONG_NAME = 'The weekly report of the harbour office about its cranes and pilots';
/** Address of the workflow in the API, which takes its name too. */
const WORKFLOW = `/v1/workflows/${encodeURIComponent(LONG_NAME)}`;
const LONG_WORD = 'report-of-the-harbour-office-about-its-cranes-and-pilots';

/** Make rows with long names and texts in the lists of channels, sources and workflows. */
async function fillConnections(): Promise<void> {
  const { appliance, operator } = console.test;
  const { sql } = appliance;
  const { orgId } = operator;
  const config = { rest_api_key: 'provider-key', secret: 'a-long-webhook-secret', collection: 'default' };
  const json = {
    name: LONG_NAME,
    provider: 'messenger',
    config: { ...config, bot_id: LONG_WORD, channel_id: LONG_WORD },
  };
  const channel = (await console.test.call('POST', '/v1/channels/configs', { key, json })).body.id;
  const text = `The warranty of cranes is two years. See ${LONG_WORD}-${LONG_WORD}.`;
  const reply = { version: '2.0', template: { outputs: [{ simpleText: { text: `${text}\n${text}` } }] } };
  for (const [n, outcome] of ['answered', 'nothing_found', null].entries()) {
    await sql`
      INSERT INTO channel_deliveries (config_id, digest, org_id, received_at, outcome, answered_at)
      VALUES (${channel}, ${Buffer.of(n)}, ${orgId}, now(), ${outcome}, ${outcome === null ? null : new Date(Date.now() + 1000)})`;
    await sql`
      INSERT INTO channel_replies (config_id, digest, claimed_until, reply, expires_at)
      VALUES (${channel}, ${Buffer.of(n)}, now(), ${outcome === null ? null : JSON.stringify(reply)},
              now() + interval '10 minutes')`;
  }
  await sql`
    INSERT INTO channel_notifications (id, org_id, config_id, actor, phone, template_code, template_args, via, status, reason)
    VALUES ('ntf_1', ${orgId}, ${channel}, 'test', '+821012345678', ${LONG_WORD}, '{}', 'provider', 'failed',
            'the provider has refused it: its template is not approved')`;
  await sql`
    INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by,
                         schedule, error_message)
    SELECT 'src_1', ${orgId}, id, ${LONG_WORD}, 'postgres', ${LONG_WORD}, '{"table": "reports"}',
           ${sql.json({ team: LONG_WORD })}, 'keep', 1, 'test', '0 * * * *', 'the table of the reports is not there any more'
    FROM buckets WHERE org_id = ${orgId} AND name = 'default'`;
  const write = { filename: `${LONG_WORD}.txt`, text: LONG_NAME, bucket: 'default' };
  const definition = { blocks: [{ id: LONG_WORD, type: 'upload_document', with: write }] };
  await console.test.call('POST', '/v1/workflows', { key, json: { name: LONG_NAME, definition } });
  await console.test.call('POST', `${WORKFLOW}/publish`, { key, json: {} });
  const { body } = await console.test.call('POST', `${WORKFLOW}/run`, { key, json: { mode: 'live' } });
  run = body.run_id;
}

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

/** Script that lists the tables that are wider than their place, and the elements of the page that are beyond its edge. */
const FIND_CUT = `(() => {
  const tables = [...document.querySelectorAll('.table-scroll')].filter((each) => each.scrollWidth > each.clientWidth);
  const cut = [...document.querySelectorAll('main :not(.code-block *, .table-scroll *, .hidden-visually)')].filter(
    (each) => each.getBoundingClientRect().right > innerWidth + 1);
  return [
    ...tables.map((each) => 'scrolls: ' + each.textContent.slice(0, 60)),
    ...cut.map((each) => 'cut: ' + each.outerHTML.slice(0, 120)),
  ];
})()`;

async function expectWholeWords(page: Page, name: string, more: () => Promise<void> = async () => {}): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 860 });
    await takePicture(page, `${name}-${width}`);
    expect({ width, faults: await page.evaluate(FIND_FAULTS) }).toEqual({ width, faults: [] });
    await expectAccessible(page, `${name}-${width}`);
    await more();
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

inBrowser.each([
  ['channels', () => '/console/channels', 'bot_id'],
  ['deliveries', () => '/console/channels/deliveries', 'The warranty of cranes'],
  ['outbox', () => '/console/channels/outbox', 'the provider has refused'],
  ['channel chat', () => '/console/channels/chat', 'Try one'],
  ['sources', () => '/console/sources', LONG_WORD],
  ['source', () => '/console/sources/src_1', 'Last synchronised'],
  ['workflows', () => '/console/workflows', LONG_NAME],
  ['workflow', () => WORKFLOW.replace('/v1', '/console'), 'Show what waits'],
  ['run', () => `${WORKFLOW.replace('/v1', '/console')}/runs/${run}`, 'Approve what may be done'],
])('nothing of the page of %s is cut off or must be scrolled to, at any width', async (name, address, text) => {
  const { page, context, faults } = await console.open(address(), { key });
  await page.getByText(text).first().waitFor();
  await expectWholeWords(page, name.replaceAll(' ', '-'), async () =>
    expect(await page.evaluate(FIND_CUT)).toEqual([]),
  );
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser.each([
  ['channels', 'New channel'],
  ['sources', 'Connect a source'],
  ['workflows', 'New workflow'],
  ['webhooks', 'New webhook'],
])('nothing of the dialog of %s is cut off in a narrow window', async (name, button) => {
  const { page, context, faults } = await console.open(`/console/${name}`, { key });
  await page.setViewportSize({ width: 375, height: 860 });
  await page.getByRole('button', { name: button }).click();
  await page.getByRole('dialog').waitFor();
  await takePicture(page, `${name}-dialog-375`);
  expect(await page.evaluate(FIND_CUT)).toEqual([]);
  expect(await page.evaluate(FIND_FAULTS)).toEqual([]);
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
  await result.waitFor();
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
