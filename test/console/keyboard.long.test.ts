import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeConsoleLink } from '../../src/cli/console-link.ts';
import { PATIENT } from '../support/channels.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { Keyboard } from './keyboard.ts';
import { ALL_SCOPES, type ConsoleTest, HAS_CHROMIUM, type OpenPage, openConsole } from './support.ts';

let console: ConsoleTest;
let folder: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  folder = mkdtempSync(path.join(tmpdir(), 'sources-'));
  mkdirSync(path.join(folder, 'handbook'));
  writeFileSync(path.join(folder, 'handbook/ships.md'), '# Ships\n\nShips moor at berth 4.');
  console = await openConsole({ settings: { ...PATIENT, sources: { docs: { type: 'folder', root: folder } } } });
  const documents = ['ferries', 'cranes', 'pilots'].map((topic) => ({
    id: topic,
    fileName: `${topic}.md`,
    text: `# ${topic}\n\nThe harbour has rules about ${topic}. The warranty of ${topic} is two years.`,
    metadata: { topic },
  }));
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(async () => {
  if (!HAS_CHROMIUM) return;
  await console.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Define a test that uses a page by keyboard alone. */
function byKeyboard(
  title: string,
  address: string,
  use: (open: OpenPage & { readonly keys: Keyboard }) => Promise<void>,
  options: Parameters<ConsoleTest['open']>[1] = {},
): void {
  it.skipIf(!HAS_CHROMIUM)(title, async () => {
    const opened = await console.open(address, options);
    await use({ ...opened, keys: new Keyboard(opened.page) });
    expect(opened.faults).toEqual([]);
    await opened.context.close();
  });
}

byKeyboard(
  'sign-in, a skipped navigation, and sign-out work by keyboard alone',
  '/console/jobs',
  async ({ page, keys }) => {
    const field = page.getByLabel('API key or user token');
    await keys.type(field, 'svc_wrong_key');
    await page.keyboard.press('Enter');
    await page.getByText('This key is not known').waitFor();
    await keys.type(field, await console.test.key({ scopes: ['search'] }));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    expect((await keys.tab())?.name).toBe('A Skip to the content');
    await page.keyboard.press('Enter');
    await keys.tab();
    expect(await page.locator('main :focus').count()).toBe(1);
    await keys.press(page.getByRole('button', { name: 'Sign out', exact: true }));
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  },
  { key: null },
);

byKeyboard(
  'each page of the navigation is opened by keyboard alone, and its heading gets the focus',
  '/console/documents',
  async ({ page, keys }) => {
    const links = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    await links.first().waitFor();
    for (let nth = 0; nth < (await links.count()); nth += 1) {
      await keys.press(links.nth(nth));
      await page.locator('h1:focus').waitFor();
      expect(await links.nth(nth).getAttribute('aria-current')).toBe('page');
    }
  },
);

byKeyboard('a query is searched, explained and opened by keyboard alone', '/console/search', async ({ page, keys }) => {
  await keys.type(page.getByLabel('Query', { exact: true }), 'rules about cranes');
  await keys.press(page.getByText('More options'));
  await keys.press(page.getByLabel('By words'), 'Space');
  await keys.press(page.getByRole('button', { name: 'Add a condition' }));
  await keys.type(page.getByLabel('Key'), 'topic');
  await keys.choose(page.getByLabel('Comparison'), 'ne');
  await keys.type(page.getByLabel('Value'), 'pilots');
  await page.keyboard.press('Enter');
  const words = page.getByRole('region', { name: 'By words' });
  await words.getByRole('link', { name: 'cranes.md' }).waitFor();
  expect(await words.getByRole('link', { name: 'pilots.md' }).count()).toBe(0);
  const first = words.getByRole('listitem').first();
  await keys.press(first.getByRole('button', { name: 'Why is it here?' }));
  await first.getByText('cranes', { exact: true }).first().waitFor();
  await keys.press(page.getByText('The same request'));
  await keys.press(page.getByRole('button', { name: 'Python' }));
  await page.getByText('import urllib.request').waitFor();
  await keys.press(words.getByRole('link', { name: 'cranes.md' }));
  await page.locator('.passage.cited').waitFor();
});

byKeyboard(
  'a bucket is made, filled and deleted by keyboard alone',
  '/console/jobs',
  async ({ page, keys }) => {
    // Only people delete buckets, never keys.
    const { token } = await makeConsoleLink(console.test.appliance);
    await page.goto(`${console.test.api.url}/console/documents#link=${token}`);
    const dialog = page.getByRole('dialog');
    await keys.expectDialog(page.getByRole('button', { name: 'New bucket' }), dialog);
    await keys.press(page.getByRole('button', { name: 'New bucket' }));
    await keys.type(dialog.getByLabel('Name'), 'by-keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'by-keyboard', level: 1 }).waitFor();
    const chooser = page.waitForEvent('filechooser');
    await keys.press(page.getByRole('button', { name: 'Choose files' }));
    await (await chooser).setFiles({ name: 'tide.txt', mimeType: 'text/plain', buffer: Buffer.from('High tide.') });
    await page.getByRole('row').filter({ hasText: 'tide.txt' }).getByText('ready').waitFor();
    await keys.choose(page.getByLabel('State'), 'failed');
    await page.getByText('No document matches').waitFor();
    await keys.press(page.getByRole('button', { name: 'Delete', exact: true }));
    await keys.type(dialog.getByLabel(/^Type/), 'by-keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Documents', level: 1 }).waitFor();
  },
  { key: null },
);

byKeyboard('a job is found by its state and cancelled by keyboard alone', '/console', async ({ page, keys }) => {
  const key = await console.test.key({ scopes: ['documents:write'] });
  const json = { filename: 'cancelled.txt', text: 'Cancelled before it runs.' };
  const { body } = await console.test.call('POST', '/v1/buckets/default/documents', { key, json });
  // No worker claims it, since it is due in an hour.
  await console.test.appliance.sql`
    UPDATE jobs SET status = 'queued', scheduled_at = now() + interval '1 hour', worker_id = NULL,
           lease_expires_at = NULL, completed_at = NULL, fence = fence + 1 WHERE id = ${body.job_id}`;
  await keys.press(page.getByRole('link', { name: 'Jobs' }));
  await keys.choose(page.getByLabel('State'), 'queued');
  await keys.press(page.getByRole('link', { name: 'cancelled.txt' }));
  await keys.press(page.getByRole('button', { name: 'Cancel the job' }));
  await page.getByText('cancelled', { exact: true }).waitFor();
});

byKeyboard('the routing is previewed and changed by keyboard alone', '/console/models', async ({ page, keys }) => {
  await keys.press(page.getByRole('link', { name: 'Routing' }));
  await keys.choose(page.getByLabel('Primary model'), 'local/lexical-1');
  const show = page.getByRole('button', { name: 'Show what it would change' });
  const dialog = page.getByRole('dialog', { name: 'What it would change' });
  await keys.expectDialog(show, dialog);
  await keys.press(show);
  await keys.press(dialog.getByRole('button', { name: 'Change the routing' }));
  await dialog.waitFor({ state: 'detached' });
  const { body } = await console.test.call('GET', '/v1/routing', { key: await console.test.key() });
  expect(body.primary).toBe('local/lexical-1');
});

byKeyboard('a key is made, stored and revoked by keyboard alone', '/console/keys', async ({ page, keys }) => {
  const create = page.getByRole('button', { name: 'New key' });
  const dialog = page.getByRole('dialog');
  await keys.expectDialog(create, dialog);
  await keys.press(create);
  await keys.type(dialog.getByLabel('Name'), 'website');
  await keys.press(dialog.getByLabel('documents:write'), 'Space');
  await keys.choose(dialog.getByLabel('Expires'), '7');
  await keys.press(dialog.getByRole('button', { name: 'Create' }));
  const secret = page.getByRole('dialog', { name: 'The key website' });
  const made = await secret.locator('code').innerText();
  expect((await console.test.call('GET', '/v1/me', { key: made })).body.scopes).toEqual(['embed', 'search']);
  await keys.press(secret.getByRole('button', { name: 'I have stored it' }));
  await secret.waitFor({ state: 'detached' });
  expect(await keys.isAt(create)).toBe(true);
  const row = page.getByRole('row').filter({ hasText: 'website' });
  await keys.press(row.getByRole('button', { name: 'Revoke' }));
  await keys.press(dialog.getByRole('button', { name: 'Revoke' }));
  await row.getByText('revoked').waitFor();
});

byKeyboard('a person is added and suspended by keyboard alone', '/console/people', async ({ page, keys }) => {
  const dialog = page.getByRole('dialog');
  await keys.press(page.getByRole('button', { name: 'Add a person' }));
  await keys.type(dialog.getByLabel('E-mail address'), 'grace@example.com');
  await keys.choose(dialog.getByLabel('Role'), 'member');
  await keys.press(dialog.getByRole('button', { name: 'Add', exact: true }));
  const row = page.getByRole('row').filter({ hasText: 'grace@example.com' });
  await keys.press(row.getByRole('button', { name: 'Edit' }));
  await keys.press(dialog.getByLabel(/^Suspended/), 'Space');
  await keys.press(dialog.getByRole('button', { name: 'Save' }));
  await row.getByText('suspended').waitFor();
});

byKeyboard('a channel is made, tried and deleted by keyboard alone', '/console/channels', async ({ page, keys }) => {
  const create = page.getByRole('button', { name: 'New channel' });
  const dialog = page.getByRole('dialog');
  await keys.expectDialog(create, dialog);
  await keys.press(create);
  await keys.type(dialog.getByLabel('Name'), 'support');
  await keys.type(dialog.getByLabel('Id of the bot'), 'bot-8');
  await keys.type(dialog.getByLabel('Id of the channel'), 'channel-8');
  await keys.type(dialog.getByLabel('API key of the provider'), 'provider-key-0123456789');
  await keys.type(dialog.getByLabel('Secret of the webhook'), 'a-long-webhook-secret');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'support' }).waitFor();
  await keys.press(page.getByRole('link', { name: 'Try one' }));
  await keys.type(page.getByLabel('Message', { exact: true }), 'warranty of cranes');
  await page.keyboard.press('Enter');
  const messages = page.getByRole('list', { name: 'Messages' });
  await messages.getByText(/two years/).waitFor();
  await keys.press(page.getByRole('link', { name: 'Deliveries' }));
  await page.getByRole('cell', { name: /two years/ }).waitFor();
  await keys.press(page.getByRole('link', { name: 'Configurations' }));
  await keys.press(page.getByRole('button', { name: 'Delete' }));
  await keys.press(dialog.getByRole('button', { name: 'Delete for good' }));
  await page.getByText('There are no channels yet').waitFor();
});

byKeyboard(
  'a source is connected, synchronised and disconnected by keyboard alone',
  '/console/sources',
  async ({ page, keys }) => {
    const create = page.getByRole('button', { name: 'Connect a source' });
    const dialog = page.getByRole('dialog');
    await keys.expectDialog(create, dialog);
    await keys.press(create);
    await keys.choose(dialog.getByLabel('Connection'), 'docs');
    await keys.type(dialog.getByLabel('path', { exact: true }), 'handbook');
    await keys.press(dialog.getByRole('button', { name: 'Look at the entries' }));
    await keys.press(dialog.getByRole('button', { name: 'Continue' }));
    await keys.type(dialog.getByLabel('Name'), 'handbook');
    await keys.press(dialog.getByRole('button', { name: 'Connect', exact: true }));
    await page.getByRole('heading', { name: 'handbook', level: 1 }).waitFor();
    await keys.press(page.getByRole('button', { name: 'Synchronise now' }));
    await page.locator('.tile').filter({ hasText: 'Added' }).getByText('1', { exact: true }).waitFor();
    await keys.press(page.getByRole('button', { name: 'Disconnect' }));
    await keys.type(dialog.getByLabel(/^Type/), 'handbook');
    await page.keyboard.press('Enter');
    await page.getByText('There are no sources yet').waitFor();
  },
);

const DEFINITION = {
  inputs: { question: { type: 'string', default: 'rules about pilots' } },
  blocks: [
    { id: 'find', type: 'search', with: { bucket: 'default', query: '{{inputs.question}}', top_k: 1 } },
    {
      id: 'write',
      type: 'upload_document',
      with: { bucket: 'default', filename: 'answer.txt', text: '{{blocks.find.output.results.0.text}}' },
    },
  ],
};

byKeyboard(
  'a workflow is published, tried, approved and run by keyboard alone',
  '/console/workflows',
  async ({ page, keys }) => {
    await keys.press(page.getByRole('button', { name: 'New workflow' }));
    await keys.type(page.getByLabel('Name'), 'Answer');
    await keys.type(page.getByLabel('Definition as JSON'), JSON.stringify(DEFINITION));
    await keys.press(page.getByRole('button', { name: 'Create' }));
    await page.getByRole('heading', { name: 'Answer', level: 1 }).waitFor();
    await keys.press(page.getByRole('button', { name: 'Publish version 1' }));
    await page.getByRole('button', { name: 'Publish version 1' }).waitFor({ state: 'detached' });
    await keys.press(page.getByRole('button', { name: 'Try without side effects' }));
    const approve = page.getByRole('group', { name: 'Approve what may be done' });
    await keys.press(approve.getByLabel(/^write/), 'Space');
    await keys.press(approve.getByRole('button', { name: /Run with 1/ }));
    await page.getByRole('row').filter({ hasText: 'completed' }).first().waitFor();
    await keys.press(page.getByRole('row').filter({ hasText: 'live' }).getByRole('link'));
    await page.getByRole('heading', { name: 'Run', level: 1 }).waitFor();
    const written = await console.test.appliance.sql`SELECT 1 FROM documents WHERE file_name = 'answer.txt'`;
    expect(written).toHaveLength(1);
  },
);

byKeyboard('the months and days of usage are read by keyboard alone', '/console/usage', async ({ page, keys }) => {
  const key = await console.test.key({ scopes: ['embed'] });
  await console.test.call('POST', '/v1/embeddings', { key, json: { input: ['a harbour', 'a ferry'] } });
  await page.reload();
  await keys.press(page.getByText('As a table'));
  const day = new Date().toLocaleDateString('en', { dateStyle: 'medium', timeZone: 'UTC' });
  await page.getByRole('cell', { name: day }).waitFor();
  const months = page.getByLabel('Month');
  const [earliest] = (await months.locator('option').allInnerTexts()).toReversed();
  await keys.choose(months, earliest as string);
  await page.getByText('Nothing was used in this month').waitFor();
});

byKeyboard('a point of the map is chosen and its document opened by keyboard alone', '/console/map', async (opened) => {
  const { page, keys } = opened;
  await keys.press(page.getByRole('button', { name: 'On the map' }).first());
  await page.getByRole('columnheader', { name: 'Nearest on the map' }).waitFor();
  await keys.press(page.getByRole('link', { name: 'cranes.md' }).first());
  await page.locator('.passage.cited').waitFor();
});

it.skipIf(!HAS_CHROMIUM)('a session that ends in the middle of a form is renewed by keyboard alone', async () => {
  const key = await console.test.key({ scopes: [...ALL_SCOPES], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/people', { key });
  const keys = new Keyboard(page);
  const dialog = page.getByRole('dialog', { name: 'Add a person' });
  await keys.press(page.getByRole('button', { name: 'Add a person' }));
  await keys.type(dialog.getByLabel('E-mail address'), 'joan@example.com');
  await console.test.call('DELETE', '/v1/sessions', { key });
  await page.keyboard.press('Enter');
  const ended = page.getByRole('dialog', { name: 'Your session has ended' });
  await keys.type(ended.getByLabel('API key or user token'), key);
  await page.keyboard.press('Enter');
  await page.getByRole('row').filter({ hasText: 'joan@example.com' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});
