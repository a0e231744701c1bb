import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { apiService } from '../../server/api-service.ts';
import { type ConsoleTest, HAS_CHROMIUM, openConsole, takePicture } from './support.ts';

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
