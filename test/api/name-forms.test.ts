import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await openTestApi();
  key = await api.key({ authLevel: 5 });
});
afterAll(() => api.close());

const DOCUMENTS = '/v1/buckets/default/documents';
const NAME = '등대_일지.txt';
const FORMS = ['NFD', 'NFC'] as const;

function multipart(name: string, text: string, fields: Record<string, string>) {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append('file', new Blob([text]), name);
  return form;
}

async function ready(jobId: string): Promise<void> {
  await until(async () => (await api.call('GET', `/v1/jobs/${jobId}`, { key })).body.status === 'ready');
}

test('a file whose name comes in another Unicode form replaces the same document, which each form finds', async () => {
  const ids: string[] = [];
  for (const [index, form] of FORMS.entries()) {
    const name = NAME.normalize(form);
    const fields = {
      source_path: `docs/${name}`,
      on_duplicate: 'replace',
      metadata: JSON.stringify({ author: '홍길동'.normalize(form) }),
    };
    const body = multipart(name, `등대 기록, 판 ${index + 1}`, fields);
    const reply = await api.call('POST', DOCUMENTS, { key, body });
    expect(reply.status).toBe(202);
    ids.push(reply.body.id);
    await ready(reply.body.job_id);
  }
  expect(new Set(ids).size).toBe(1);
  const { body } = await api.call('GET', `${DOCUMENTS}/${ids[0]}`, { key });
  expect(body).toMatchObject({ file_name: NAME, metadata: { author: '홍길동' }, source_path: `docs/${NAME}` });
  for (const form of FORMS) {
    for (const filter of [
      { file_name: NAME.normalize(form) },
      { author: '홍길동'.normalize(form) },
      { type: 'in', key: 'source_path', value: [`docs/${NAME}`.normalize(form)] },
      { type: 'ne', key: 'author', value: '다른 사람'.normalize(form) },
    ]) {
      const search = { query: '등대 기록', filter };
      const found = await api.call('POST', '/v2/buckets/default/search', { key, json: search });
      expect(found.status).toBe(200);
      expect(found.body.results.map((result: { document_id: string }) => result.document_id)).toEqual([ids[0]]);
    }
    const statement = `SELECT documents WHERE author = '${'홍길동'.normalize(form)}' AND file_name LIKE '${'등대%'.normalize(form)}'`;
    const edit = await api.call('PATCH', `${DOCUMENTS}/metadata/bulk`, { key, json: { statement } });
    expect(edit.status).toBe(200);
    expect(JSON.stringify(edit.body)).toContain(ids[0]);
  }
});

test('a collection has one name in both forms', async () => {
  const create = (form: 'NFC' | 'NFD') =>
    api.call('POST', '/v1/buckets/default/collections', { key, json: { name: '항만 자료'.normalize(form) } });
  const created = await create('NFD');
  expect(created.body.name).toBe('항만 자료');
  expect((await create('NFC')).status).toBe(409);
  for (const form of FORMS) {
    const body = multipart(`${form}.txt`, `부두 ${form}`, { collection_id: '항만 자료'.normalize(form) });
    const reply = await api.call('POST', DOCUMENTS, { key, body });
    expect(reply.body).toMatchObject({ collection_id: created.body.id });
    await ready(reply.body.job_id);
    const search = { query: '부두', collection: '항만 자료'.normalize(form) };
    expect((await api.call('POST', '/v2/buckets/default/search', { key, json: search })).status).toBe(200);
  }
});
