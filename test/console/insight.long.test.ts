import { afterAll, beforeAll, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { ALL_SCOPES, type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

let console: ConsoleTest;
let admin: string;
beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  console = await openConsole();
  admin = await console.test.key({ scopes: [...ALL_SCOPES], authLevel: 10 });
  await upload('pump.txt', 'The pump is greased every three months.');
});
afterAll(() => console?.close());

const call = (method: string, path: string, json?: object) =>
  console.test.call(method, path, json === undefined ? { key: admin } : { key: admin, json });
const ask = (query: string) => call('POST', '/v2/buckets/default/search', { query, mode: 'keyword' });

async function upload(filename: string, text: string): Promise<void> {
  const { body } = await call('POST', '/v1/buckets/default/documents', { filename, text });
  await until(async () => (await call('GET', `/v1/documents/${body.id}`)).body.status === 'ready', { what: 'ingest' });
}

it.skipIf(!HAS_CHROMIUM)(
  'queries are kept once an administrator chooses it, and thumbs of a search are shown',
  async () => {
    const { page, context, faults } = await console.open('/console/insight', { key: admin });
    await page.getByLabel('Kept').selectOption('queries');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Every question was answered').waitFor();
    await page.goto(`${console.test.api.url}/console/search?bucket=default&q=greased+pump`);
    await page.getByRole('button', { name: 'These results helped' }).click();
    await page.getByText('Thank you.').waitFor();
    await page.getByRole('link', { name: 'pump.txt' }).click();
    await page.waitForURL(/documents\/doc_\w+\?search=srch_\w+#0/);
    const entries = async () => (await call('GET', '/v1/search/log')).body.data;
    await until(async () => (await entries())[0]?.opened.length === 1, { what: 'the opened document' });
    expect((await entries())[0]).toMatchObject({ helpful: true, opened: [{ file_name: 'pump.txt' }] });
    expect(faults).toEqual([]);
    await context.close();
  },
);

it.skipIf(!HAS_CHROMIUM)('a question without an answer becomes a synonym, a document and a judged pair', async () => {
  await call('PUT', '/v1/search/log/level', { level: 'queries' });
  for (const query of ['lubrication', 'lubrication', 'sauna opening hours']) await ask(query);
  const { page, context, faults } = await console.open('/console/insight?days=7', { key: admin });
  const row = page.getByRole('row', { name: /lubrication/ }).first();
  await row.waitFor();
  await expectGoodLooks(page, 'insight');

  await row.getByRole('button', { name: 'Add a synonym' }).click();
  const synonym = page.getByRole('dialog', { name: 'Add a synonym' });
  expect(await synonym.getByLabel('Words of the question').inputValue()).toBe('lubrication');
  await synonym.getByLabel('Words of the documents').fill('greased');
  await expectGoodLooks(page, 'insight-synonym');
  await synonym.getByRole('button', { name: 'Add', exact: true }).click();
  await synonym.waitFor({ state: 'hidden' });
  expect((await ask('lubrication')).body.results).toHaveLength(1);

  await row.getByRole('button', { name: 'Judge a document' }).click();
  const judge = page.getByRole('dialog', { name: 'Judge a document' });
  await judge.getByLabel('Part of the name').fill('pum');
  await judge.getByLabel('How well').selectOption('2');
  await expectGoodLooks(page, 'insight-judge');
  await judge.getByRole('button', { name: 'Keep' }).click();
  await judge.waitFor({ state: 'hidden' });
  const judged = (await call('GET', '/v1/search/judgements?bucket=default')).body;
  expect(JSON.parse(judged)).toMatchObject({ query: 'lubrication' });

  const other = page.getByRole('row', { name: /sauna/ }).first();
  await other.getByRole('button', { name: 'Add a document' }).click();
  const answer = page.getByRole('dialog', { name: 'Add a document' });
  expect(await answer.getByLabel('Name').inputValue()).toBe('sauna-opening-hours.md');
  await answer.getByLabel('Text').fill('# sauna opening hours\n\nThe sauna opens at noon.');
  await expectGoodLooks(page, 'insight-answer');
  await answer.getByRole('button', { name: 'Upload' }).click();
  await answer.waitFor({ state: 'hidden' });
  await until(async () => (await ask('sauna opening hours')).body.results.length > 0, { what: 'the answer' });
  expect(faults).toEqual([]);
  await context.close();
});

it.skipIf(!HAS_CHROMIUM)('the page is in Korean, too, and those who may not read the log do not see it', async () => {
  const { page, context, faults } = await console.open('/console/insight', { key: admin, locale: 'ko-KR' });
  await page.getByRole('heading', { name: '검색 분석' }).waitFor();
  await page.getByRole('heading', { name: '답 없음' }).waitFor();
  expect(faults).toEqual([]);
  await context.close();
  const member = await console.test.key({ scopes: ['search'] });
  const other = await console.open('/console/search', { key: member });
  await other.page.getByRole('link', { name: 'Search' }).waitFor();
  expect(await other.page.getByRole('link', { name: 'Insight' }).count()).toBe(0);
  await other.context.close();
});
