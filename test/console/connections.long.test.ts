import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ingestAll } from '../support/ingest-all.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole, takePicture } from './support.ts';

let console: ConsoleTest;
let folder: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  folder = mkdtempSync(path.join(tmpdir(), 'sources-'));
  mkdirSync(path.join(folder, 'handbook'));
  writeFileSync(path.join(folder, 'handbook/ships.md'), '# Ships\n\nShips moor at berth 4.');
  console = await openConsole({ settings: { sources: { docs: { type: 'folder', root: folder } } } });
  const documents = ['ferries', 'cranes', 'pilots'].map((topic) => ({
    id: topic,
    fileName: `${topic}.md`,
    text: `# ${topic}\n\nThe harbour has rules about ${topic}. The warranty of ${topic} is two years.`,
  }));
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(async () => {
  if (!HAS_CHROMIUM) return;
  await console.close();
  rmSync(folder, { recursive: true, force: true });
});

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('a channel is made with hidden credentials, answers in the chat, and is deleted', async () => {
  const { page, context, faults } = await console.open('/console/channels');
  await page.getByText('There are no channels yet').waitFor();
  await page.getByRole('button', { name: 'New channel' }).click();
  const form = page.getByRole('dialog');
  await form.getByLabel('Name').fill('support');
  await form.getByLabel('Id of the bot').fill('bot-7');
  await form.getByLabel('Id of the channel').fill('channel-7');
  await form.getByLabel('API key of the provider').fill('provider-key-0123456789');
  await form.getByLabel('Secret of the webhook').fill('a-long-webhook-secret');
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'support' }).waitFor();
  expect(await page.content()).not.toContain('a-long-webhook-secret');
  await expectGoodLooks(page, 'channels');
  await page.getByRole('link', { name: 'Try one' }).click();
  await page.getByLabel('Message', { exact: true }).fill('warranty of cranes');
  await page.getByRole('button', { name: 'Send' }).click();
  await page
    .getByRole('list', { name: 'Messages' })
    .getByText(/two years/)
    .waitFor();
  await expectGoodLooks(page, 'channel-chat');
  await page.getByRole('link', { name: 'Deliveries' }).click();
  await page
    .getByText(/two years/)
    .first()
    .waitFor();
  await page.getByRole('link', { name: 'Outbox' }).click();
  await page.getByText('Nothing was sent yet').waitFor();
  await page.getByRole('link', { name: 'Configurations' }).click();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('There are no channels yet').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a source is connected and synchronised, and its page follows the synchronisation', async () => {
  const { page, context, faults } = await console.open('/console/sources');
  await page.getByText('There are no sources yet').waitFor();
  await page.getByRole('button', { name: 'Connect a source' }).click();
  await page.getByLabel('Connection').selectOption('docs');
  await page.getByLabel('path', { exact: true }).fill('../elsewhere');
  await page.getByRole('button', { name: 'Look at the entries' }).click();
  await page.getByText(/must not lead out of the root/).waitFor();
  await page.getByLabel('path', { exact: true }).fill('handbook');
  await page.getByLabel('include').fill('*.md\n*.txt');
  await expectGoodLooks(page, 'source-form');
  await page.getByRole('button', { name: 'Look at the entries' }).click();
  await page.getByRole('cell', { name: 'ships.md' }).waitFor();
  await expectGoodLooks(page, 'source-preview');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByLabel('Name').fill('handbook');
  await page.getByRole('button', { name: 'Connect', exact: true }).click();
  await page.getByRole('heading', { name: 'handbook', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Synchronise now' }).click();
  await page.locator('.tile').filter({ hasText: 'Added' }).getByText('1', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('The source is paused').waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Synchronise now' }).waitFor();
  symlinkSync('harbour.md', path.join(folder, 'handbook/harbour.md'));
  await page.getByRole('button', { name: 'Synchronise now' }).click();
  await page.getByText('it cannot be read (ELOOP)', { exact: true }).waitFor();
  await expectGoodLooks(page, 'source');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.getByText('Would be added').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click();
  await page.getByRole('button', { name: 'Read again' }).click();
  await page.getByText('harbour.md is read again').waitFor();
  rmSync(path.join(folder, 'handbook/harbour.md'));
  writeFileSync(path.join(folder, 'handbook/harbour.md'), '# Harbour\n\nThe harbour opens at six.');
  await page.getByRole('heading', { name: 'Entries that could not be read' }).waitFor({ state: 'detached' });
  await page.getByRole('navigation', { name: 'Path' }).getByRole('link', { name: 'Sources' }).click();
  await page.getByRole('link', { name: 'handbook' }).waitFor();
  await expectGoodLooks(page, 'sources');
  expect(faults).toEqual([]);
  await context.close();
});

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

inBrowser('a workflow is published, and its side effect happens only after an approval given on the page', async () => {
  const { page, context, faults } = await console.open('/console/workflows');
  await page.getByText('There are no workflows yet').waitFor();
  await page.getByRole('button', { name: 'New workflow' }).click();
  await page.getByLabel('Name').fill('Answer');
  await page.getByLabel('Definition as JSON').fill('{"blocks": [{"id": "x", "type": "nothing"}]}');
  await page.getByRole('button', { name: 'Create' }).click();
  await page
    .getByRole('alert')
    .getByText(/blocks\[0\]/)
    .waitFor();
  await takePicture(page, 'workflow-fault');
  await page.getByLabel('Definition as JSON').fill(JSON.stringify(DEFINITION));
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'Answer', level: 1 }).waitFor();
  await page.getByRole('button', { name: 'Publish version 1' }).click();
  await page.getByRole('button', { name: 'Publish version 1' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Try without side effects' }).click();
  const approve = page.getByRole('group', { name: 'Approve what may be done' });
  await approve.getByText('answer.txt', { exact: true }).waitFor();
  await page.getByRole('img', { name: 'find · search → write · upload document' }).waitFor();
  await expectGoodLooks(page, 'workflow');
  const written = () => console.test.appliance.sql`SELECT 1 FROM documents WHERE file_name = 'answer.txt'`;
  expect(await written()).toHaveLength(0);
  await approve.getByLabel(/^write/).check();
  await approve.getByRole('button', { name: /Run with 1/ }).click();
  await page.getByRole('row').filter({ hasText: 'completed' }).first().waitFor();
  await page.getByText(/actual run|live: completed/i).waitFor();
  expect(await written()).toHaveLength(1);
  await page.getByRole('row').filter({ hasText: 'live' }).getByRole('link').click();
  await page.getByRole('heading', { name: 'Run', level: 1 }).waitFor();
  await expectGoodLooks(page, 'workflow-run');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a block is added to a workflow by a form, and the picture shows it', async () => {
  const key = await console.test.key({ scopes: [...ALL_SCOPES], authLevel: 10 });
  const blocks = [{ id: 'hello', type: 'template', with: { text: 'Hello' } }];
  const json = { name: 'Growing', definition: { blocks } };
  const { body } = await console.test.call('POST', '/v1/workflows', { key, json });
  const { page, context, faults } = await console.open(`/console/workflows/${body.id}`, { key });
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('button', { name: 'Add a block' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a block' });
  await dialog.getByLabel('Type').selectOption('upload_document');
  await dialog.getByLabel('Id of the block').fill('store');
  await dialog.getByText('each run asks for an approval').waitFor();
  await dialog.getByLabel('bucket', { exact: true }).fill('default');
  await dialog.getByText('Optional fields').click();
  await dialog.getByLabel('filename', { exact: true }).fill('hello.txt');
  await dialog.getByLabel('text', { exact: true }).fill('{{blocks.hello.output}}');
  await expectGoodLooks(page, 'workflow-add-block');
  await dialog.getByRole('button', { name: 'Add a block' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('img', { name: 'hello · template → store · upload document' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('an edited definition of a workflow is still there after the page was left and loaded anew', async () => {
  const key = await console.test.key({ scopes: [...ALL_SCOPES], authLevel: 10 });
  const json = { name: 'Drafted', definition: DEFINITION };
  const { id } = (await console.test.call('POST', '/v1/workflows', { key, json })).body;
  const { page, context, faults } = await console.open(`/console/workflows/${id}`, { key });
  const field = page.getByRole('textbox', { name: 'Definition as JSON' });
  await page.getByRole('button', { name: 'Edit' }).click();
  await field.fill('{"blocks": [half-written');
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  await page.goBack();
  expect(await field.inputValue()).toBe('{"blocks": [half-written');
  await page.reload();
  expect(await field.inputValue()).toBe('{"blocks": [half-written');
  const changed = { ...DEFINITION, output: 'a new output' };
  await field.fill(JSON.stringify(changed));
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Definition, version 2' }).waitFor();
  await page.getByText('a new output').waitFor();
  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await field.inputValue()).toContain('a new output');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.reload();
  await page.getByRole('button', { name: 'Edit' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the overview shows figures of the organization, and operators see the system', async () => {
  const { page, context, faults } = await console.open('/console');
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor();
  await page.locator('.tile').filter({ hasText: 'Answers not found' }).waitFor();
  expect(await page.getByRole('link', { name: 'System' }).count()).toBe(0);
  await expectGoodLooks(page, 'overview');
  expect(faults).toEqual([]);
  await context.close();
  const key = await console.test.key({ scopes: ['platform_admin'], authLevel: 10 });
  const operator = await console.open('/console/overview', { key });
  await operator.page.getByRole('link', { name: 'System' }).click();
  await operator.page.getByRole('heading', { name: 'Storage' }).waitFor();
  await expectGoodLooks(operator.page, 'system');
  await operator.page.goto(`${console.test.api.url}/console/organizations`);
  await operator.page.getByRole('cell', { name: 'default' }).waitFor();
  await expectGoodLooks(operator.page, 'organizations');
  expect(operator.faults).toEqual([]);
  await operator.context.close();
});

inBrowser('the overview tells how many documents are found by words only so far, and does not warn', async () => {
  const { sql } = console.test.appliance;
  const [document] = await sql`
    UPDATE documents SET keyword_only = true WHERE id = (SELECT min(id) FROM documents WHERE status = 'ready')
    RETURNING id`;
  const { page, context, faults } = await console.open('/console');
  const line = page.getByText('1 document is found by words only so far; its vectors are being made');
  await line.waitFor();
  expect(await page.locator('.notice').filter({ has: line }).count()).toBe(0);
  await expectGoodLooks(page, 'overview-words-only');
  await sql`UPDATE documents SET keyword_only = false WHERE id = ${document?.['id']}`;
  await line.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the map shows a sample of a bucket, and a point leads to its document', async () => {
  const { page, context, faults } = await console.open('/console/map');
  await page.getByRole('img', { name: /^Map of \d+ chunks/ }).waitFor();
  await page.getByRole('button', { name: 'On the map' }).first().click();
  await page.getByRole('columnheader', { name: 'Nearest on the map' }).waitFor();
  await expectGoodLooks(page, 'map');
  await page.getByRole('link', { name: 'cranes.md' }).first().click();
  await page.locator('.passage.cited').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('channels, sources, workflows, overview and map speak Korean', async () => {
  const { page, context, faults } = await console.open('/console', { locale: 'ko-KR' });
  await page.getByRole('heading', { name: '개요', level: 1 }).waitFor();
  for (const name of ['채널', '소스', '워크플로', '지도']) {
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
  }
  await expectGoodLooks(page, 'map-korean');
  expect(faults).toEqual([]);
  await context.close();
});
