import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { SLOW_MS } from '../../src/insight/log/schema.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { runCommand } from './service.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let api: TestApi;
let folder: string;
let key: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'search-log-'));
  api = await openTestApi();
  key = await api.key({ scopes: ['search', 'documents:write', 'users:manage'], authLevel: 10 });
});
afterAll(async () => {
  await api.close();
  rmSync(folder, { recursive: true });
});

const service = (...args: string[]) => runCommand(args, { SERVICE_DATA_DIR: api.dataDir });
/** Run a command that opens the installation itself. */
const opening = (...args: string[]) =>
  runCommand(args, { SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl });
const search = async (query: string) =>
  (await api.call('POST', '/v2/buckets/default/search', { key, json: { query, mode: 'keyword' } })).body;

async function upload(filename: string, text: string): Promise<string> {
  const documents = '/v1/buckets/default/documents';
  const { body } = await api.call('POST', documents, { key, json: { filename, text } });
  await until(async () => (await api.call('GET', `${documents}/${body.id}`, { key })).body.status === 'ready');
  return body.id;
}

test('the level of the search log is shown and chosen, and more than the operator knows is refused', async () => {
  expect((await service('search', 'log', 'level')).stdout).toMatch(/level\s+counts\nchosen\s+none\nat most\s+queries/);
  expect(await service('search', 'log')).toMatchObject({
    ...{ code: 0, stdout: '', stderr: 'no searches; see what is kept: search log level\n' },
  });
  const wrong = await service('search', 'log', 'level', 'everything');
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('LEVEL') });
  const level = (await service('search', 'log', 'level', 'queries', '--json')).json();
  expect(level).toEqual({ level: 'queries', chosen: 'queries', level_max: 'queries', retention_days: 30 });
});

test('the search log is listed, filtered and exported', async () => {
  await upload('pump.txt', 'The pump is greased every three months.');
  await search('greased pump');
  await search('swimming pool');
  const { stdout } = await service('search', 'log', '--unanswered', '--since', '1d');
  expect(stdout).toContain('swimming pool');
  expect(stdout).not.toContain('greased pump');
  const page = (await service('search', 'log', '--json')).json();
  expect(page.data.map(({ query }: { query: string }) => query)).toEqual(['swimming pool', 'greased pump']);
  const slow = page.data.filter(({ took_ms: tookMs }: { took_ms: number }) => tookMs >= SLOW_MS);
  expect((await service('search', 'log', '--slow', '--json')).json().data).toEqual(slow);
  expect(await service('search', 'log', '--since', 'yesterday')).toMatchObject({ code: 2 });
  const file = path.join(folder, 'log.csv');
  expect((await service('search', 'log', '--export', file, '--json')).json()).toEqual({ file });
  expect(readFileSync(file, 'utf8').trim().split('\r\n')).toHaveLength(3);
  expect(await service('search', 'log', '--export', file)).toMatchObject({ code: 4 });
  expect(await service('search', 'log', '--export', '-', '--json')).toMatchObject({ code: 2 });
  const lines = (await service('search', 'log', '--export', '-', '--contains', 'pump')).stdout;
  expect(JSON.parse(lines)).toMatchObject({ query: 'greased pump', asked_by: 'key' });
});

test('judged queries of the log tune the weights of a bucket like those of a file', async () => {
  for (let n = 0; n < 10; n++) {
    const id = await upload(`part-${n}.txt`, `Part ${n} is number ${1000 + n}.`);
    const { search_id: searchId } = await search(`where is number ${1000 + n}`);
    const json = { document_id: id, grade: 2 };
    const { status } = await api.call('POST', `/v1/search/log/${searchId}/judgement`, { key, json });
    expect(status).toBe(200);
  }
  const file = path.join(folder, 'judged.jsonl');
  const saved = await service('search', 'log', 'judged', '--export', file);
  expect(saved).toMatchObject({ code: 0, stderr: '10 judged queries\n' });
  const fromFile = await opening('index', 'tune', '--queries', file, '--json');
  const fromLog = await opening('index', 'tune', '--judged-from-log', '--json');
  expect(fromLog).toMatchObject({ code: 0 });
  expect(fromLog.json()).toMatchObject({ queries: 10, applied: false, present: { ndcg: expect.any(Number) } });
  expect(fromLog.json()).toEqual(fromFile.json());
  expect(await service('search', 'log', 'judged')).toMatchObject({ code: 2 });
  const set = path.join(folder, 'sets', 'judged');
  const written = await service('search', 'log', 'judged', '--folder', set, '--json');
  expect(written.json()).toEqual({ folder: set, documents: 11, queries: 10 });
  const linesOf = (name: string) => readFileSync(path.join(set, name), 'utf8').trim().split('\n');
  const docs = linesOf('docs.jsonl').map((line) => JSON.parse(line));
  expect(docs).toContainEqual({ id: expect.any(String), title: 'part-3.txt', text: 'Part 3 is number 1003.' });
  const queries = new Map(linesOf('queries.jsonl').map((line) => [JSON.parse(line).id, JSON.parse(line).text]));
  const titles = new Map(docs.map(({ id, title }) => [id, title]));
  const graded = linesOf('qrels.tsv').map((line) => line.split('\t'));
  expect(graded.map(([query, document, grade]) => [queries.get(query), titles.get(document), grade])).toEqual(
    Array.from({ length: 10 }, (_, n) => [`where is number ${1000 + n}`, `part-${n}.txt`, '2']),
  );
  expect(await service('search', 'log', 'judged', '--folder', set)).toMatchObject({ code: 4 });
  expect(await service('index', 'tune')).toMatchObject({ code: 2 });
  expect(await service('index', 'tune', '--queries', file, '--judged-from-log')).toMatchObject({ code: 2 });
});
