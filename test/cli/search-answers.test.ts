import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { untilSettled } from '../support/settled.ts';
import { until } from '../support/until.ts';
import { runCommand } from './service.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
  const key = await api.key();
  const documents = '/v1/buckets/default/documents';
  const texts = ['The warranty of the pump covers two years.', 'Bearings are greased twice a year.'];
  for (const [nth, text] of texts.entries()) {
    const { body } = await api.call('POST', documents, { key, json: { filename: `${nth}.txt`, text } });
    await until(async () => (await api.call('GET', `${documents}/${body.id}`, { key })).body.status === 'ready');
  }
  await untilSettled(api.appliance.sql, 'default');
  // Words are corrected once the index is in memory.
  const path = '/v2/buckets/default/search';
  await until(
    async () => (await api.call('POST', path, { key, json: { query: 'waranty' } })).body.corrected.length > 0,
  );
});
afterAll(() => api.close());

const search = (...args: string[]) => runCommand(['search', ...args], { SERVICE_DATA_DIR: api.dataDir });

test('a search tells which misspelled word it has replaced, and --no-correct searches for the word as it is', async () => {
  const corrected = await search('waranty', '--mode', 'keyword');
  expect(corrected).toMatchObject({
    code: 0,
    stderr: 'no document has "waranty"; searched for "warranty" (--no-correct searches for words as they are)\n',
  });
  expect(corrected.stdout).toContain('covers two years');
  const plain = await search('waranty', '--mode', 'keyword', '--no-correct');
  expect(plain).toMatchObject({ code: 0, stdout: '', stderr: 'nothing found\n' });
});

test('a search says in one line if nothing that it found seems to answer the query', async () => {
  const irrelevant = await search('chocolate cake with almonds', '--mode', 'vector');
  expect(irrelevant).toMatchObject({
    code: 0,
    stderr: 'no passage seems to answer the query; the nearest are:\n',
  });
  const relevant = await search('warranty of the pump');
  expect(relevant).toMatchObject({ code: 0, stderr: '' });
  expect((await search('warranty of the pump', '--json')).json().relevance).toMatch(/high|medium/);
});
