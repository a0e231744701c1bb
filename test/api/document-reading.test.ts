import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let key: string;
let id: string;
const SECTIONS = 12;

beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['search', 'documents:write', 'jobs:write', 'buckets:manage'], authLevel: 5 });
  const filler = Array.from({ length: 120 }, (_, n) => `word${n}`).join(' ');
  const text = Array.from({ length: SECTIONS }, (_, n) => `# Harbour ${n}\n\nBerth ${n} is for ferries. ${filler}.`);
  const documents = [{ id: 'harbour', fileName: 'harbour.md', text: text.join('\n\n') }];
  const { idOf } = await ingestAll(test.appliance, test.operator, 'default', documents);
  [id = ''] = [...idOf.keys()];
});
afterAll(() => test.close());

it('a document is found by its id without its bucket, and not by a caller of another organization', async () => {
  const { body } = await test.call('GET', `/v1/documents/${id}`, { key });
  expect(body).toMatchObject({ id, file_name: 'harbour.md', status: 'ready' });
  const elsewhere = await test.key({ org: 'elsewhere' });
  expect((await test.call('GET', `/v1/documents/${id}`, { key: elsewhere })).status).toBe(404);
  expect((await test.call('GET', `/v1/documents/${id}/chunks`, { key: elsewhere })).status).toBe(404);
});

it('the chunks of a document are read in ranges that join without a gap, with their headings', async () => {
  const chunks: { chunk_index: number; text: string; locator: { heading_path: string[] } }[] = [];
  let first: number | null = 0;
  while (first !== null) {
    const { body }: { body: { chunks: typeof chunks; next: number | null } } = await test.call(
      'GET',
      `/v1/documents/${id}/chunks?first=${first}&count=2`,
      { key },
    );
    chunks.push(...body.chunks);
    first = body.next;
  }
  expect(chunks.map((chunk) => chunk.chunk_index)).toEqual(chunks.map((_, at) => at));
  expect(chunks.length).toBeGreaterThan(3);
  expect(chunks[0]?.locator.heading_path).toEqual(['Harbour 0']);
  expect(chunks.some(({ text }) => text.includes(`Berth ${SECTIONS - 1}`))).toBe(true);
});

it('the history of a document needs an administrator, whom an API key without a user is not', async () => {
  const { status, body } = await test.call('GET', `/v1/documents/${id}/history`, { key });
  expect(status).toBe(403);
  expect(body.detail).toMatch(/admin/);
});

it('a document of a bucket that is being deleted is not found', async () => {
  const bucket = (await test.call('POST', '/v1/buckets', { key, json: { name: 'going' } })).body;
  const upload = { filename: 'note.txt', text: 'a note about harbours' };
  const { body } = await test.call('POST', '/v1/buckets/going/documents', { key, json: upload });
  await test.appliance.sql`UPDATE buckets SET deleting_at = now() WHERE id = ${bucket.id}`;
  expect((await test.call('GET', `/v1/documents/${body.id}`, { key })).status).toBe(404);
});

it('jobs are listed a page at a time, in the order of the whole list, also after the last job of a page is deleted', async () => {
  for (const n of [1, 2, 3, 4, 5]) {
    const upload = { filename: `page-${n}.txt`, text: `page ${n} of a list of jobs` };
    await test.call('POST', '/v1/buckets/default/documents', { key, json: upload });
  }
  const list = async (query: string): Promise<{ id: string; status: string; document_id: string }[]> =>
    (await test.call('GET', `/v1/jobs?${query}`, { key })).body;
  await until(async () => (await list('limit=200')).every(({ status }) => status === 'ready'), { what: 'all jobs' });
  const whole = await list('limit=200');
  const ids = whole.map((job) => job.id);
  const first = await list('limit=2');
  expect(first.map((job) => job.id)).toEqual(ids.slice(0, 2));
  const second = await list(`limit=2&cursor=${ids[1]}`);
  expect(second.map((job) => job.id)).toEqual(ids.slice(2, 4));
  expect((await test.call('DELETE', `/v1/jobs/${ids[1]}`, { key })).status).toBe(204);
  expect((await list(`limit=2&cursor=${ids[1]}`)).map((job) => job.id)).toEqual(ids.slice(2, 4));
  const documentId = whole[0]?.document_id ?? '';
  expect((await list(`document_id=${documentId}`)).map((job) => job.id)).toEqual([ids[0]]);
});
