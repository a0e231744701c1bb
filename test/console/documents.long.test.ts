import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeConsoleLink } from '../../src/cli/console-link.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole, takePicture } from './support.ts';

let console: ConsoleTest;
const SECTIONS = 40;

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  const filler =
    'The harbour office keeps a list of all ships, and publishes it every morning before the first ferry leaves. ';
  const sections = Array.from(
    { length: SECTIONS },
    (_, n) => `# Berth ${n}\n\nBerth ${n} is for ferries. ${filler.repeat(6)}`,
  );
  await ingestAll(console.test.appliance, console.test.operator, 'default', [
    { id: 'harbour', fileName: 'harbour-handbook.md', text: sections.join('\n\n'), metadata: { team: 'port' } },
    { id: 'tides', fileName: 'tides.txt', text: 'High tide is at noon. Low tide is at six.' },
  ]);
});
afterAll(() => console?.close());

const inBrowser = it.skipIf(!HAS_CHROMIUM);

inBrowser('buckets are listed, and a new one is made and opened', async () => {
  const { page, context, faults } = await console.open('/console/documents');
  await page.getByRole('link', { name: 'default' }).waitFor();
  await expectGoodLooks(page, 'buckets');
  await page.getByRole('button', { name: 'New bucket' }).click();
  await page.getByLabel('Name').fill('not allowed!');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Name').fill('reports');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('heading', { name: 'reports', level: 1 }).waitFor();
  await page.getByText('This bucket is empty').waitFor();
  await expectGoodLooks(page, 'bucket-empty');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser(
  'dropped files are stored with their progress, and the list shows each until it is ready or failed with its reason',
  async () => {
    const bucket = (await console.test.call('POST', '/v1/buckets', { key: await key(), json: { name: 'dropped' } }))
      .body;
    const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`);
    await page.getByText('This bucket is empty').waitFor();
    await page.evaluate(`{
    const data = new DataTransfer();
    data.items.add(new File(['# Ships\\n\\nThe ship Aurora sails on Monday.'], 'ships.md'));
    data.items.add(new File([new Uint8Array([0, 1, 2, 3, 255, 254, 0, 9])], 'noise.bin'));
    dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
  }`);
    const uploads = page.getByRole('region', { name: 'Upload' });
    await uploads.getByText('Stored').nth(1).waitFor();
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await row('ships.md').getByText('ready').waitFor();
    await row('noise.bin').getByText('failed').waitFor();
    await expectGoodLooks(page, 'bucket');
    await row('noise.bin').locator('.sub').first().waitFor();
    await page.getByLabel('State').selectOption('failed');
    await row('ships.md').waitFor({ state: 'detached' });
    expect(page.url()).toContain('status=failed');
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser(
  'a failure is told in Korean, with the English details on the page of the document and of the job',
  async () => {
    const name = { name: 'unreadable' };
    const { body: bucket } = await console.test.call('POST', '/v1/buckets', { key: await key(), json: name });
    const json = { filename: 'noise.bin', content_base64: 'AAECA//+AAk=' };
    const sent = await console.test.call('POST', `/v1/buckets/${bucket.id}/documents`, { key: await key(), json });
    const sentence = '읽을 수 없는 형식의 파일입니다.';
    const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`, { locale: 'ko-KR' });
    const row = page.getByRole('row').filter({ hasText: 'noise.bin' });
    await row.getByText(sentence, { exact: true }).waitFor();
    await expectGoodLooks(page, 'bucket-failed-korean');
    for (const address of [`documents/${sent.body.id}`, `jobs/${sent.body.job_id}`]) {
      await page.goto(`${console.test.api.url}/console/${address}`);
      await page.getByText(sentence, { exact: true }).waitFor();
      await page.getByText(/^원문: ./).waitFor();
    }
    await expectGoodLooks(page, 'job-failed-korean');
    expect(faults).toEqual([]);
    await context.close();
  },
);

inBrowser('documents are found by name and folder, put in order, chosen and deleted together', async () => {
  const { body: bucket } = await console.test.call('POST', '/v1/buckets', { key: await key(), json: { name: 'many' } });
  for (const filename of ['port/cranes/plan.txt', 'port/cranes/offer.txt', 'port/ferries.txt', 'menu.txt']) {
    const json = { filename: filename.split('/').at(-1), text: `About ${filename}`, source_path: filename };
    await console.test.call('POST', `/v1/buckets/${bucket.id}/documents`, { key: await key(), json });
  }
  const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`);
  const table = page.getByRole('table', { name: 'Documents' });
  const names = () => table.locator('tbody .main').allInnerTexts();
  await table.getByRole('button', { name: 'Name' }).click();
  await table.getByRole('columnheader', { name: 'Name' }).and(page.locator('[aria-sort=ascending]')).waitFor();
  await expect.poll(names).toEqual(['ferries.txt', 'menu.txt', 'offer.txt', 'plan.txt']);
  await page.getByRole('button', { name: 'Folders in port' }).click();
  await page.getByRole('button', { name: /^cranes/ }).click();
  await expect.poll(names).toEqual(['offer.txt', 'plan.txt']);
  await expectGoodLooks(page, 'bucket-folders');
  await page.getByRole('button', { name: 'All documents' }).click();
  await page.getByLabel('Search in names').fill('FERR');
  await expect.poll(names).toEqual(['ferries.txt']);
  await page.getByLabel('Search in names').fill('');
  await page.getByLabel('Select plan.txt').check();
  await page.getByLabel('Select menu.txt').check();
  await page.getByText('2 selected').waitFor();
  await expectGoodLooks(page, 'bucket-selection');
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('Done for 2').waitFor();
  await expect.poll(names).toEqual(['ferries.txt', 'offer.txt']);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('files that are dropped beside the buckets go to the chosen one, ten thousand of them too', async () => {
  const { page, context, faults } = await console.open('/console/documents');
  await page.getByRole('link', { name: 'default' }).waitFor();
  await page.route(/\/documents$/, (route) =>
    route.request().method() === 'POST'
      ? route.fulfill({ status: 400, json: { detail: 'this file is refused' } })
      : route.continue(),
  );
  await page.evaluate(`{
    const data = new DataTransfer();
    for (let n = 0; n < 10_000; n++) data.items.add(new File(['file ' + n], 'file-' + n + '.txt'));
    dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true }));
  }`);
  const dialog = page.getByRole('dialog', { name: 'Where do these files go?' });
  await dialog.getByText('10,000 files').waitFor();
  await dialog.getByLabel('Bucket').selectOption({ label: 'default' });
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('heading', { name: 'default', level: 1 }).waitFor();
  await page.getByText(/of 10,000 files are stored · .* not stored/).waitFor();
  await page.getByText('this file is refused').first().waitFor();
  await page.getByRole('button', { name: 'Try the failed ones again' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a bucket shows how many chunks are found by words only, until their vectors are made', async () => {
  const { sql } = console.test.appliance;
  const { body: bucket } = await console.test.call('POST', '/v1/buckets', {
    key: await key(),
    json: { name: 'growing' },
  });
  const upload = async (name: string) => {
    const json = { filename: name, text: `About ${name}` };
    return (await console.test.call('POST', `/v1/buckets/${bucket.id}/documents`, { key: await key(), json })).body.id;
  };
  const row = (name: string) => page.getByRole('row').filter({ hasText: name }).getByText('ready');
  const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`);
  const first = await upload('first.txt');
  await row('first.txt').waitFor();
  expect(await page.getByText('by words only').count()).toBe(0);
  await sql`UPDATE documents SET keyword_only = true, chunks_count = 1412 WHERE id = ${first}`;
  await upload('second.txt');
  await page.getByText('1,412 of 1,413 chunks by words only').waitFor();
  const progress = page.getByRole('progressbar', { name: 'Progress of the vectors' });
  expect([await progress.getAttribute('value'), await progress.getAttribute('max')]).toEqual(['1', '1413']);
  await expectGoodLooks(page, 'bucket-words-only');
  await sql`UPDATE documents SET keyword_only = false WHERE id = ${first}`;
  await upload('third.txt');
  await page.getByText('by words only').waitFor({ state: 'detached' });
  expect(await progress.count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a collection is made, a file is uploaded into it, and a search is limited to it', async () => {
  const { page, context, faults } = await console.open('/console/documents');
  await page.getByRole('link', { name: 'default' }).click();
  await page.getByRole('button', { name: 'New collection' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('timetables');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('cell', { name: 'timetables' }).waitFor();
  await page.getByLabel('Collection of the upload').selectOption({ label: 'timetables' });
  const file = {
    name: 'monday.txt',
    mimeType: 'text/plain',
    buffer: Buffer.from('On Monday the ferry leaves at nine.'),
  };
  await page.getByTestId('files').setInputFiles([file]);
  const row = page.getByRole('row').filter({ hasText: 'monday.txt' });
  await row.getByText('ready').waitFor();
  await page.getByRole('link', { name: 'Search in it' }).click();
  await page.getByLabel('Query', { exact: true }).fill('ferry');
  await page.keyboard.press('Enter');
  await page.getByText('1 result', { exact: false }).waitFor();
  await page.getByRole('link', { name: 'monday.txt' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a cited chunk far down in a document is marked and in view, under its heading', async () => {
  const { document, chunk } = await citedChunk();
  const { page, context, faults } = await console.open(`/console/documents/${document}#${chunk}`);
  const cited = page.locator('.passage.cited');
  await cited.waitFor();
  expect(await cited.innerText()).toContain('Berth');
  const place = await cited.boundingBox();
  expect(place !== null && place.y >= 0 && place.y < 860).toBe(true);
  await page.getByText('No changes since').or(page.getByText('Only administrators')).waitFor();
  await expectGoodLooks(page, 'document');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a citation of a passage that is not there any more says so above the text from the start', async () => {
  const { document } = await citedChunk();
  const { page, context, faults } = await console.open(`/console/documents/${document}#9999`);
  await page.getByText('The cited passage is not there any more').waitFor();
  await page.locator('#chunk-0').waitFor();
  expect(await page.getByText('This document has no text').count()).toBe(0);
  await page.goto(`${console.test.api.url}/console/documents/${document}#2`);
  await page.locator('.passage.cited').waitFor();
  expect(await page.getByText('The cited passage is not there any more').count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a vector that was imported without its text says so in place of the text', async () => {
  const { call } = console.test;
  await call('POST', '/v1/buckets', { key: await key(), json: { name: 'vectors' } });
  const vector = Array.from({ length: 1536 }, (_, at) => (at === 7 ? 1 : 0));
  const json = { model: 'vendor-a/text-embedding-3-small', rows: [{ id: 'old/7', vector }] };
  const { body } = await call('POST', '/v1/buckets/vectors/vectors', { key: await key(), json });
  const id = body.documents[0].document_id;
  const { page, context, faults } = await console.open(`/console/documents/${id}`);
  await page.getByText('It is a vector that was imported without its text.').waitFor();
  await page.getByText('old/7').waitFor();
  await expectGoodLooks(page, 'document-vector');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a caller who may not change metadata is offered no editing of a document', async () => {
  const { document } = await citedChunk();
  const searching = await console.test.key({ scopes: ['search', 'documents:write'], authLevel: 10 });
  const { page, context, faults } = await console.open(`/console/documents/${document}`, { key: searching });
  await page.getByRole('heading', { name: 'Access' }).waitFor();
  await page.locator('#chunk-0').waitFor();
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0);
  await page.goto(`${console.test.api.url}/console/organizations`);
  await page.getByText('You may not do this').waitFor();
  expect(await page.getByRole('button', { name: /New organization|Try again/ }).count()).toBe(0);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('metadata and access of a document are edited in place', async () => {
  const { document } = await citedChunk();
  const { page, context, faults } = await console.open(`/console/documents/${document}`);
  const metadata = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Metadata' }) });
  await metadata.getByRole('button', { name: 'Edit' }).click();
  await metadata.getByLabel('Value').first().fill('harbour office');
  await metadata.getByLabel('Key').last().fill('season');
  await metadata.getByLabel('Value').last().fill('winter');
  await takePicture(page, 'document-metadata-form');
  await metadata.getByRole('button', { name: 'Save' }).click();
  await metadata.getByText('harbour office').waitFor();
  await metadata.getByText('winter').waitFor();
  const access = page.locator('section.panel', { has: page.getByRole('heading', { name: 'Access' }) });
  await access.getByRole('button', { name: 'Edit' }).click();
  await access.getByLabel('Classification').selectOption('restricted');
  await access.getByLabel('Privacy level').fill('3');
  await access.getByRole('button', { name: 'Save' }).click();
  await access.getByText('restricted', { exact: true }).waitFor();
  const { body } = await console.test.call('GET', `/v1/documents/${document}`, { key: await key() });
  expect(body).toMatchObject({
    metadata: { team: 'harbour office', season: 'winter' },
    privacy_level: 3,
    classification: 'restricted',
  });
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser(
  'the link that the service prints signs the operator in once, who sees the history of a document',
  async () => {
    const { document } = await citedChunk();
    const json = { metadata: { reviewed: 'yes' }, reindex: false };
    await console.test.call('PATCH', `/v1/buckets/default/documents/${document}/metadata`, { key: await key(), json });
    const { token } = await makeConsoleLink(console.test.appliance);
    const { page, context, faults } = await console.open(`/console/documents/${document}#link=${token}`, { key: null });
    const history = page.locator('section.panel', { has: page.getByRole('heading', { name: 'History' }) });
    await history.getByText('reviewed: – → yes').waitFor();
    await expectGoodLooks(page, 'document-history');
    expect(faults).toEqual([]);
    await context.close();
    const again = await console.open(`/console#link=${token}`, { key: null });
    await again.page.getByText('The sign-in link is not valid any more').waitFor();
    await again.context.close();
  },
);

inBrowser('a document is processed again and then deleted from its page', async () => {
  const upload = { filename: 'short-lived.txt', text: 'This document is deleted soon.' };
  const { body } = await console.test.call('POST', '/v1/buckets/default/documents', { key: await key(), json: upload });
  const { page, context, faults } = await console.open(`/console/documents/${body.id}`);
  await page.getByText('This document is deleted soon.').waitFor();
  await page.getByRole('button', { name: 'Process again' }).click();
  await page.getByText('The document is processed again').waitFor();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('heading', { name: 'default', level: 1 }).waitFor();
  await page.getByRole('link', { name: 'short-lived.txt' }).waitFor({ state: 'detached' });
  expect((await console.test.call('GET', `/v1/documents/${body.id}`, { key: await key() })).status).toBe(404);
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a bucket that is deleted while it is open says so', async () => {
  const { appliance } = console.test;
  const bucket = (await console.test.call('POST', '/v1/buckets', { key: await key(), json: { name: 'going' } })).body;
  const { page, context, faults } = await console.open(`/console/buckets/${bucket.id}`);
  await page.getByText('This bucket is empty').waitFor();
  await appliance.sql`UPDATE buckets SET deleting_at = now() WHERE id = ${bucket.id}`;
  await page.getByLabel('State').selectOption('ready');
  await page.getByText('This does not exist, or not any more').first().waitFor();
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('the pages of documents speak Korean', async () => {
  const { document } = await citedChunk();
  const { page, context, faults } = await console.open(`/console/documents/${document}`, { locale: 'ko' });
  await page.getByRole('heading', { name: '메타데이터' }).waitFor();
  await page.getByText('변경 이력은 조직 관리자만').waitFor();
  await expectGoodLooks(page, 'document-korean');
  expect(faults).toEqual([]);
  await context.close();
});

inBrowser('a bucket is opened, a document is chosen and its metadata edited by keyboard alone', async () => {
  const { page, context, faults } = await console.open('/console/documents');
  await page.getByRole('link', { name: 'default' }).waitFor();
  await tabTo('default');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'tides.txt' }).waitFor();
  expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
  await tabTo('tides.txt');
  await page.keyboard.press('Enter');
  await page.getByText('High tide is at noon').waitFor();
  await tabTo('Edit');
  await page.keyboard.press('Enter');
  await tabTo('', 'Key');
  await page.keyboard.type('season');
  await page.keyboard.press('Tab');
  await page.keyboard.type('summer');
  await page.keyboard.press('Enter');
  await page.getByText('summer', { exact: true }).waitFor();
  expect(faults).toEqual([]);
  await context.close();

  async function tabTo(text: string, label?: string): Promise<void> {
    const at = 'document.activeElement.getAttribute("aria-label") + "|" + document.activeElement.textContent.trim()';
    for (let presses = 0; presses < 80; presses += 1) {
      await page.keyboard.press('Tab');
      const [name, content] = String(await page.evaluate(at)).split('|');
      if (label === undefined ? content === text : name === label) return;
    }
    throw new Error(`Tab did not reach ${label ?? text}`);
  }
});

let everything: string | undefined;
async function key(): Promise<string> {
  everything ??= await console.test.key({
    scopes: ['search', 'documents:write', 'buckets:manage', 'jobs:write'],
    authLevel: 10,
  });
  return everything;
}

async function citedChunk(): Promise<{ document: string; chunk: number }> {
  const json = { query: `Berth ${SECTIONS - 5} ferries`, mode: 'keyword' };
  const { body } = await console.test.call('POST', '/v2/buckets/default/search', { key: await key(), json });
  const [first] = body.results;
  return { document: first.document_id, chunk: first.chunk_index };
}
