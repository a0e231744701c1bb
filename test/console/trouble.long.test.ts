import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiService } from '../../server/api-service.ts';
import { type ConsoleTest, expectAccessible, HAS_CHROMIUM, openConsole, takePicture } from './support.ts';

let console: ConsoleTest;
let folder: string;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  folder = mkdtempSync(path.join(tmpdir(), 'console-'));
  console = await openConsole();
});
afterAll(async () => {
  if (!HAS_CHROMIUM) return;
  await console.close();
  rmSync(folder, { recursive: true, force: true });
});

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser(
  'a page that is open while the service restarts says so, connects again, and shows what changed meanwhile',
  async () => {
    const { appliance, api } = console.test;
    const port = Number(new URL(api.url).port);
    const key = await console.test.key({
      scopes: ['search', 'documents:write', 'buckets:manage', 'jobs:write'],
      authLevel: 10,
    });
    const first = apiService(appliance, { port: 0 });
    await first.start(new AbortController().signal);
    const { port: restartedPort } = new URL(first.url);
    expect(Number(restartedPort)).not.toBe(port);
    const { page, context, faults } = await console.open('/console', { key: null });
    const reply = await context.request.post(`${first.url}/v1/sessions`, { data: { credential: key } });
    expect(reply.status()).toBe(201);
    await page.goto(`${first.url}/console/documents`);
    await page.getByRole('link', { name: 'default' }).waitFor();
    await page.getByRole('button', { name: 'New bucket' }).click();
    await page.getByLabel('Name').fill('typed-before');
    await first.stop();
    await page.getByText('Connecting again').waitFor();
    await takePicture(page, 'connection-lost');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The service cannot be reached').first().waitFor();
    await console.test.call('POST', '/v1/buckets', { key, json: { name: 'made-meanwhile' } });
    const second = apiService(appliance, { port: Number(restartedPort) });
    await second.start(new AbortController().signal);
    await page.getByText('Connecting again').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'made-meanwhile' }).waitFor();
    expect(await page.locator('dialog').getByLabel('Name').inputValue()).toBe('typed-before');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'typed-before', level: 1 }).waitFor();
    expect(faults.filter((fault) => !/ERR_CONNECTION|request to/.test(fault))).toEqual([]);
    await context.close();
    await second.stop();
  },
);

inBrowser(
  'a page that is opened while the network is away stays in the console, and is shown once it is back',
  async () => {
    const { page, context } = await console.open('/console/documents');
    await page.getByRole('link', { name: 'default' }).waitFor();
    await context.setOffline(true);
    await page.getByRole('link', { name: 'Usage' }).click();
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor();
    await page.getByText('The service cannot be reached').first().waitFor();
    await expectAccessible(page, 'page-offline');
    await context.setOffline(false);
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
    await context.close();
  },
);

inBrowser('a page whose file is blocked causes one reload, then says so, and is shown once it is not', async () => {
  const { page, context } = await console.open('/console/documents');
  await page.getByRole('link', { name: 'default' }).waitFor();
  let loads = 0;
  page.on('load', () => {
    loads += 1;
  });
  const file = /\/assets\/usage-[A-Z0-9]+\.js$/;
  await page.route(file, (route) => route.abort());
  await page.getByRole('link', { name: 'Usage' }).click();
  await page.getByText('The service answers, but not with this page').waitFor();
  // The message is there before and after the next try.
  const refused = page.waitForEvent('requestfailed', (request) => file.test(request.url()));
  await page.getByRole('button', { name: 'Try again' }).click();
  await refused;
  await page.getByText('The service answers, but not with this page').waitFor();
  expect(loads).toBe(1);
  await page.unroute(file);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor();
  expect(loads).toBe(1);
  await context.close();
});

inBrowser('a file of 5 GB that is dropped on a bucket is refused in words, and the page goes on', async () => {
  const file = path.join(folder, 'huge.bin');
  const handle = openSync(file, 'w');
  ftruncateSync(handle, 5_000_000_000);
  closeSync(handle);
  const key = await console.test.key({ scopes: ['search', 'documents:write', 'buckets:manage'] });
  const bucket = (await console.test.call('POST', '/v1/buckets', { key, json: { name: 'huge' } })).body;
  const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`);
  await page.getByText('This bucket is empty').waitFor();
  await dropFile(page, file);
  await page.getByText('Not stored').waitFor();
  await page.getByText(/larger than/).waitFor();
  await takePicture(page, 'upload-too-large');
  const small = { name: 'small.txt', mimeType: 'text/plain', buffer: Buffer.from('A small file after a huge one.') };
  await page.getByTestId('files').setInputFiles([small]);
  await page.getByText('Stored', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

/** Drop a file of this host on a page; a field of the test gives the page the file without reading it. */
async function dropFile(page: Page, file: string): Promise<void> {
  await page.evaluate(`{
    const field = document.createElement('input');
    field.type = 'file';
    field.hidden = true;
    field.dataset.testid = 'dropped';
    document.body.append(field);
  }`);
  await page.getByTestId('dropped').setInputFiles([file]);
  await page.evaluate(`{
    const field = document.querySelector('[data-testid=dropped]');
    const data = new DataTransfer();
    data.items.add(field.files[0]);
    dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
    field.remove();
  }`);
}
