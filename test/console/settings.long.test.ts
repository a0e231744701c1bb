import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  const documents = [{ id: 'note', fileName: 'note.txt', text: 'A note about the harbour.' }];
  await ingestAll(console.test.appliance, console.test.operator, 'default', documents);
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('the catalog, the calibration and the models of buckets are shown, each at its own address', async () => {
  const { page, context, faults } = await console.open('/console/models');
  await page.getByRole('cell', { name: /local\/lexical-1/ }).waitFor();
  await expectGoodLooks(page, 'models');
  await page.getByRole('link', { name: 'Vendors' }).click();
  const vendor = page.getByRole('row').filter({ hasText: 'vendor-a' }).first();
  await vendor.getByText('It speaks the protocol of OpenAI.').waitFor();
  await vendor.getByText('Not set up').waitFor();
  await expectGoodLooks(page, 'models-vendors');
  await page.getByRole('link', { name: 'Calibration' }).click();
  await page.getByText('No model has been calibrated').waitFor();
  await expectGoodLooks(page, 'models-calibration');
  await page.getByRole('link', { name: 'Buckets and their models' }).click();
  await page.getByRole('row').filter({ hasText: 'default' }).getByText('local/lexical-1').waitFor();
  await expectGoodLooks(page, 'models-buckets');
  expect(page.url()).toContain('/console/models/buckets');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('an operator adds a vendor by a test call, and removes it', async () => {
  const upstream = await FakeUpstream.start({ apiKeys: ['a-key-of-acme'] });
  const key = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/models/vendors', { key });
  await page.getByRole('button', { name: 'Add a vendor' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a vendor' });
  expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('vendor-a');
  await dialog.getByLabel('Protocol').selectOption('voyage');
  expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('vendor-c');
  await dialog.getByLabel('Protocol').selectOption('openai');
  await dialog.getByLabel('Name', { exact: true }).fill('acme');
  await dialog.getByLabel('Address').fill(upstream.baseUrl('openai'));
  await dialog.getByLabel('API key').fill('a-wrong-key');
  await dialog.getByLabel('Name of a model at the vendor').fill('words-1');
  await dialog.getByRole('button', { name: 'Test and add' }).click();
  await dialog.getByRole('alert').waitFor();
  await expectGoodLooks(page, 'models-vendor-refused');
  await dialog.getByLabel('API key').fill('a-key-of-acme');
  await page.keyboard.press('Enter');
  const row = page.getByRole('row').filter({ hasText: 'acme/words-1' });
  await row.getByText('added here').waitFor();
  await row.getByRole('button', { name: 'Test acme/words-1' }).click();
  await row.getByText(/^It answered in/).waitFor();
  expect(await page.content()).not.toContain('a-key-of-acme');
  await expectGoodLooks(page, 'models-vendor-added');
  await row.getByRole('button', { name: 'Add a model of acme' }).click();
  const another = page.getByRole('dialog', { name: 'Add a model of acme' });
  await another.getByLabel('Name of a model at the vendor').fill('words-2');
  await page.keyboard.press('Enter');
  await row.getByText('acme/words-2').waitFor();
  await row.getByRole('button', { name: 'Remove acme' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await row.waitFor({ state: 'detached' });
  expect(faults).toEqual([]);
  await context.close();
  await upstream.close();
});

inBrowser('the form of a vendor has the fields of its protocol, and its secrets are sent', async () => {
  const awsKey = {
    ...{ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'a-secret-of-aws' },
    ...{ region: 'us-east-1', service: 'bedrock' },
  };
  const upstream = await FakeUpstream.start({ awsKey, dimensions: 1024 });
  const key = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/models/vendors', { key });
  await page.getByRole('button', { name: 'Add a vendor' }).click();
  const dialog = page.getByRole('dialog', { name: 'Add a vendor' });
  await dialog.getByLabel('Protocol').selectOption('azure');
  await dialog.getByLabel('Version of the API').waitFor();
  await dialog.getByLabel('Protocol').selectOption('vertex');
  await dialog.getByLabel('Key of a service account').waitFor();
  expect(await dialog.getByLabel('API key').count()).toBe(0);
  await expectGoodLooks(page, 'models-vendor-vertex');
  await dialog.getByLabel('Protocol').selectOption('bedrock');
  await dialog.getByLabel('Name', { exact: true }).fill('aws');
  await dialog.getByLabel('Address').fill(`${upstream.url}/bedrock`);
  await dialog.getByLabel('Region of AWS').fill('us-east-1');
  await dialog.getByLabel('Access key of AWS').fill(awsKey.accessKeyId);
  await dialog.getByLabel('Secret of the access key').fill(awsKey.secretAccessKey);
  await dialog.getByLabel('Name of a model at the vendor').fill('amazon.titan-embed-text-v2:0');
  await dialog.getByRole('button', { name: 'Test and add' }).click();
  const row = page.getByRole('row').filter({ hasText: 'aws/amazon.titan-embed-text-v2:0' });
  await row.getByText('added here').waitFor();
  expect(await page.content()).not.toContain(awsKey.secretAccessKey);
  await console.test.call('DELETE', '/v1/vendors/aws', { key });
  expect(faults).toEqual([]);
  await context.close();
  await upstream.close();
});

inBrowser('a caller who is no operator is offered no vendor to add', async () => {
  const { page, context, faults } = await console.open('/console/models/vendors');
  await page.getByRole('row').filter({ hasText: 'vendor-a' }).first().waitFor();
  expect(await page.getByRole('button', { name: 'Add a vendor' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('buckets that match words only are moved together to the built-in model of meanings', async () => {
  const key = await console.test.key({ org: 'movers', scopes: [...ALL_SCOPES], authLevel: 10 });
  for (const name of ['ferries', 'ships']) {
    await console.test.call('POST', '/v1/buckets', { key, json: { name } });
    const json = { filename: `${name}.txt`, text: `A note about ${name}.` };
    const { body } = await console.test.call('POST', `/v1/buckets/${name}/documents`, { key, json });
    const isReady = async () =>
      (await console.test.call('GET', `/v1/documents/${body.id}`, { key })).body.status === 'ready';
    await until(isReady, { withinMs: 60_000, what: `the document of ${name}` });
  }
  const modelOf = async (name: string) =>
    (await console.test.call('GET', `/v1/buckets/${name}`, { key })).body.embedding.model;
  const { body: ships } = await console.test.call('GET', '/v1/buckets/ships', { key });
  const { page, context, faults } = await console.open('/console/models/buckets', { key });
  await page.getByText('2 buckets match words only').waitFor();
  await expectGoodLooks(page, 'models-by-words');
  await page.getByRole('button', { name: 'Move the buckets' }).click();
  const dialog = page.getByRole('dialog', { name: 'Move the buckets to local/semantic-1?' });
  await dialog.getByText('Requests that name no model go to local/semantic-1').waitFor();
  expect(await dialog.locator('dl > *').allInnerTexts()).toEqual(['ferries', '1 chunk', 'ships', '1 chunk']);
  await expectGoodLooks(page, 'models-move-all');
  // The dry run has changed nothing.
  const { body: jobs } = await console.test.call('GET', '/v1/jobs', { key });
  expect(jobs.map((job: { processing_type: string }) => job.processing_type)).toEqual(Array(2).fill('document_upload'));
  expect((await console.test.call('GET', '/v1/routing', { key })).body.primary).toBe('service-embed-1-small');
  // A bucket that is refused stays in the dialog, and the next try is for it alone.
  await page.route(/\/reembed$/, (route) =>
    route.request().url().includes(ships.id)
      ? route.fulfill({ status: 409, json: { detail: 'the index is busy' } })
      : route.continue(),
  );
  await dialog.getByRole('button', { name: 'Move the buckets' }).click();
  await dialog.getByText('ships: the index is busy').waitFor();
  expect(await dialog.locator('dl > *').allInnerTexts()).toEqual(['ships', '1 chunk']);
  await page.unroute(/\/reembed$/);
  await dialog.getByRole('button', { name: 'Move the buckets' }).click();
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
  expect((await console.test.call('GET', '/v1/routing', { key })).body.primary).toBe('local/semantic-1');
  for (const name of ['ferries', 'ships']) {
    const isMoved = async () => (await modelOf(name)) === 'local/semantic-1';
    await until(isMoved, { withinMs: 120_000, what: `vectors of ${name}` });
  }
  await page.goto(`${console.test.api.url}/console/models/buckets`);
  await page.getByRole('row').filter({ hasText: 'ships' }).getByText('local/semantic-1', { exact: true }).waitFor();
  expect(await page.getByRole('button', { name: 'Move the buckets' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('buckets that are on the way to the model of meanings are not offered again', async () => {
  const { page, context, faults } = await console.open('/console/models/buckets');
  const bucket = (await console.test.call('GET', '/v1/buckets/default', { key: await console.test.key() })).body.id;
  const job = {
    processing_type: 'bucket_reembed',
    bucket_id: bucket,
    metadata_snapshot: { model: 'local/semantic-1' },
  };
  await page.getByText('1 bucket matches words only').waitFor();
  await page.route(/\/v1\/jobs\?status=queued/, (route) => route.fulfill({ json: [job] }));
  await page.reload();
  await page.getByRole('link', { name: '1 bucket is on the way to local/semantic-1.' }).waitFor();
  expect(await page.getByRole('button', { name: 'Move the buckets' }).count()).toBe(0);
  await expectGoodLooks(page, 'models-on-the-way');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a move is rehearsed: its cost first, then both rankings side by side', async () => {
  const key = await console.test.key({ scopes: ['search', 'buckets:manage'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/models/buckets', { key });
  await page.getByRole('button', { name: 'Rehearse default' }).click();
  await page.getByRole('heading', { name: 'Rehearse default with another model' }).waitFor();
  await page.getByLabel('Model', { exact: true }).selectOption('local/semantic-1');
  await page.getByLabel('Queries to compare').fill('harbour\n\nwhere do ships go?');
  await page.getByRole('button', { name: 'Show what it costs' }).click();
  await page.getByText('The rehearsal embeds about 3 texts').waitFor();
  await page.getByRole('button', { name: 'Rehearse', exact: true }).last().click();
  await page.getByText('1 chunk, 2 queries, 0 judged').waitFor({ timeout: 60_000 });
  for (const model of ['local/lexical-1', 'local/semantic-1']) {
    const ranking = page.locator('details[open] section').filter({ hasText: model });
    await ranking.getByRole('link', { name: 'note.txt' }).waitFor();
    await ranking.getByText('rank 1 by the other').waitFor();
  }
  await expectGoodLooks(page, 'models-rehearsal');
  // Another model is another rehearsal, whose cost is shown first.
  await page.getByLabel('Queries to compare').fill('harbour');
  await page.getByRole('button', { name: 'Show what it costs' }).waitFor();
  await page.getByRole('button', { name: 'Close' }).click();
  expect(await page.getByRole('heading', { name: 'Rehearse default' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a person who may not change the routing is not offered to move the buckets', async () => {
  const key = await console.test.key({ scopes: ['search', 'buckets:manage'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/models/buckets', { key });
  await page.getByRole('row').filter({ hasText: 'default' }).getByText('local/lexical-1').waitFor();
  expect(await page.getByText('match words only').or(page.getByText('matches words only')).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a change of the routing says what it would do before it is made', async () => {
  const { page, context, faults } = await console.open('/console/models/routing');
  await page.getByLabel('Primary model').selectOption('local/lexical-1');
  await page.getByRole('button', { name: 'Show what it would change' }).click();
  const dialog = page.getByRole('dialog', { name: 'What it would change' });
  await dialog.getByText('Requests that name no model go to local/lexical-1').waitFor();
  await dialog.getByText('1 bucket with documents keeps its model').waitFor();
  await expectGoodLooks(page, 'models-routing');
  const key = await console.test.key();
  expect((await console.test.call('GET', '/v1/routing', { key })).body.primary).toBe('service-embed-1-small');
  await dialog.getByRole('button', { name: 'Change the routing' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect((await console.test.call('GET', '/v1/routing', { key })).body.primary).toBe('local/lexical-1');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the usage of this month is shown as a chart and as a table', async () => {
  const key = await console.test.key({ scopes: ['embed'] });
  await console.test.call('POST', '/v1/embeddings', { key, json: { input: ['a harbour', 'a ferry'] } });
  const { page, context, faults } = await console.open('/console/usage');
  await page.getByRole('heading', { name: 'Tokens by day' }).waitFor();
  await page.locator('.chart canvas').waitFor();
  const byKey = page.locator('section.panel', { has: page.getByRole('heading', { name: 'By key' }) });
  await byKey.getByRole('row').filter({ hasText: 'key:' }).first().waitFor();
  await page.getByRole('table', { name: 'By bucket' }).getByRole('link', { name: 'default' }).waitFor();
  await expectGoodLooks(page, 'usage');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export as CSV' }).first().click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^usage-days-\d{4}-\d\d\.csv$/);
  expect(readFileSync(await file.path(), 'utf8')).toMatch(/^\uFEFFday,requests,tokens\r\n\d{4}-/);
  await page.getByText('As a table').click();
  const day = new Date().toLocaleDateString('en', { dateStyle: 'medium', timeZone: 'UTC' });
  await page.getByRole('cell', { name: day }).waitFor();
  const months = page.getByLabel('Month');
  await months.selectOption({ index: 3 });
  await page.getByText('Nothing was used in this month').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a key is made, shown once, rotated and revoked', async () => {
  const { page, context, faults } = await console.open('/console/keys');
  await page.getByRole('button', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('website');
  await page.getByLabel('documents:write').uncheck();
  await expectGoodLooks(page, 'key-new');
  await page.getByRole('button', { name: 'Create' }).click();
  const secret = page.getByRole('dialog', { name: 'The key website' });
  const made = await secret.locator('code').innerText();
  await expectGoodLooks(page, 'key-secret');
  expect((await console.test.call('GET', '/v1/me', { key: made })).body.scopes).toEqual(['embed', 'search']);
  await secret.getByRole('button', { name: 'I have stored it' }).click();
  await secret.waitFor({ state: 'detached' });
  const row = page.getByRole('row').filter({ hasText: 'website' });
  await row.first().waitFor();
  await expectGoodLooks(page, 'keys');
  expect(await page.content()).not.toContain(made);
  await row.first().getByRole('button', { name: 'Rotate' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  const rotated = await secret.locator('code').innerText();
  expect(rotated).not.toBe(made);
  await secret.getByRole('button', { name: 'I have stored it' }).click();
  await secret.waitFor({ state: 'detached' });
  const id = (await console.test.call('GET', '/v1/me', { key: rotated })).body.key.id;
  const rotatedRow = page.getByRole('row').filter({ hasText: id });
  await rotatedRow.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await rotatedRow.getByText('revoked').waitFor();
  const isRefused = async () => (await console.test.call('GET', '/v1/me', { key: rotated })).status === 401;
  await until(isRefused, { what: 'refusal of the revoked key' });
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('revoking the key of the session warns that the session ends', async () => {
  const own = await console.test.key({ scopes: ['search', 'keys:manage'] });
  const { page, context, faults } = await console.open('/console/keys', { key: own });
  const { id } = (await console.test.call('GET', '/v1/me', { key: own })).body.key;
  const row = page.getByRole('row').filter({ hasText: id });
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByText('You are signed in with this key').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a person is added, gets a department, and is suspended', async () => {
  // Only administrators give departments.
  const key = await console.test.key({ scopes: [...ALL_SCOPES, 'platform_admin'], authLevel: 10 });
  const { page, context, faults } = await console.open('/console/people', { key });
  await page.getByText('There are no people yet').waitFor();
  await page.getByRole('button', { name: 'Add a person' }).click();
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByLabel('Department').fill('harbour');
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  const row = page.getByRole('row').filter({ hasText: 'ada@example.com' });
  await row.getByText('harbour').waitFor();
  await expectGoodLooks(page, 'people');
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel(/^Suspended/).check();
  await page.getByRole('button', { name: 'Save' }).click();
  await row.getByText('suspended').waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a caller without the scopes sees no buttons that would be refused', async () => {
  const key = await console.test.key({ scopes: ['search'] });
  const { page, context, faults } = await console.open('/console/keys', { key });
  await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
  await page.getByText('You may not do this').waitFor();
  expect(await page.getByRole('button', { name: 'New key' }).count()).toBe(0);
  await page.goto(`${console.test.api.url}/console/documents`);
  await page.getByRole('link', { name: 'default' }).click();
  await page.getByRole('link', { name: 'note.txt' }).waitFor();
  expect(await page.getByText('Drop documents anywhere').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('models, usage and keys speak Korean', async () => {
  const { page, context, faults } = await console.open('/console/models/routing', { locale: 'ko-KR' });
  await page.getByLabel('기본 모델').waitFor();
  await page.getByRole('link', { name: '사용량' }).click();
  await page.getByRole('heading', { name: '사용량', level: 1 }).waitFor();
  await page.getByRole('link', { name: '키와 사용자' }).click();
  await page.getByRole('button', { name: '새 키' }).waitFor();
  await expectGoodLooks(page, 'keys-korean');
  expect(faults).toEqual([]);
  await context.close();
});
