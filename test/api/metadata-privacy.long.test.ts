import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

// Tests that an edit of who may find a document holds for the very next request, with or without a reindex.
let test: TestApi;
let manager: string;
let reader: string;
beforeAll(async () => {
  test = await openTestApi();
  manager = await test.key({ scopes: ['buckets:manage', 'documents:write', 'search'], authLevel: 10 });
  reader = await makeUserToken(test.appliance, { role: 'member', department: 'sales' });
});
afterAll(() => test.close());

const BUCKET = '/v1/buckets/default';
const DOCUMENTS = `${BUCKET}/documents`;

interface Document {
  readonly id: string;
  readonly jobId: string;
  readonly word: string;
}

let uploads = 0;
/** Ingest a document with a unique word. */
async function ingest(fields: object = {}): Promise<Document> {
  const word = `pelican${++uploads}x`;
  const json = { filename: `${word}.txt`, text: `The ${word} lives on the coast.`, metadata: { word }, ...fields };
  const { body } = await test.call('POST', DOCUMENTS, { key: manager, json });
  const document = { id: body.id, jobId: body.job_id, word };
  await until(async () => (await stateOf(document.id)).status === 'ready', { what: 'ingest' });
  return document;
}

const stateOf = async (id: string) => (await test.call('GET', `${DOCUMENTS}/${id}`, { key: manager })).body;
const edit = ({ id }: Document, json: object) =>
  test.call('PATCH', `${DOCUMENTS}/${id}/metadata`, { key: manager, json: { reindex: false, ...json } });
const bulk = async (json: object) => {
  const { status, body } = await test.call('PATCH', `${DOCUMENTS}/metadata/bulk`, { key: manager, json });
  expect([status, body.detail]).toEqual([200, undefined]);
  return body;
};

async function isSearched({ id, word }: Document, key: string, mode = 'hybrid'): Promise<boolean> {
  const json = { query: `Where does the ${word} live?`, top_k: 100, mode };
  const { status, body } = await test.call('POST', '/v2/buckets/default/search', { key, json });
  expect(status).toBe(200);
  return body.results.some((result: { document_id: string }) => result.document_id === id);
}

/** Ask every route that can show a document. @returns true for each route that shows it */
async function visibility(document: Document, key: string): Promise<Record<string, boolean>> {
  const { id, jobId, word } = document;
  const get = (path: string) => test.call('GET', path, { key });
  const lists = async (path: string, found: string) => JSON.stringify((await get(path)).body).includes(found);
  const opens = async (path: string) => {
    const { status } = await get(path);
    expect([200, 404]).toContain(status);
    return status === 200;
  };
  const same = { filename: `${word}.txt`, text: `The ${word} lives on the coast.` };
  const preview = async (json: object) => {
    const { status, body } = await test.call('PATCH', `${DOCUMENTS}/metadata/bulk`, { key, json });
    expect(status).toBe(200);
    return body.matched === 1;
  };
  return {
    hybrid: await isSearched(document, key),
    vector: await isSearched(document, key, 'vector'),
    keyword: await isSearched(document, key, 'keyword'),
    list: await lists(`${DOCUMENTS}?limit=200`, id),
    get: await opens(`${DOCUMENTS}/${id}`),
    jobs: await lists('/v1/jobs?limit=200', id),
    job: await opens(`/v1/jobs/${jobId}`),
    files: await opens(`/v1/jobs/${jobId}/files`),
    download: await opens(`/v1/jobs/${jobId}/download`),
    select: await preview({ statement: `SELECT documents WHERE word = '${word}'` }),
    duplicate: (await test.call('POST', DOCUMENTS, { key, json: same })).body.duplicate_of === id,
  };
}

const every = (found: boolean) =>
  Object.fromEntries(
    ['hybrid', 'vector', 'keyword', 'list', 'get', 'jobs', 'job', 'files', 'download', 'select', 'duplicate'].map(
      (route) => [route, found],
    ),
  );

describe('the very next request of a caller with a lower auth level', () => {
  it.each([
    ['a single edit', (document: Document) => edit(document, { privacy_level: 8 })],
    [
      'an UPDATE',
      ({ word }: Document) =>
        bulk({ statement: `UPDATE documents SET privacy_level = 8 WHERE word = '${word}'`, reindex: false }),
    ],
    ['a bulk edit', ({ word }: Document) => bulk({ where: { word }, privacy_level: 8, reindex: false })],
  ])('a document that %s made private is hidden from every route, and shown again once it is open', async (_, hide) => {
    const document = await ingest();
    expect(await visibility(document, reader)).toEqual(every(true));
    await hide(document);
    expect(await visibility(document, reader)).toEqual(every(false));
    expect(await visibility(document, manager)).toEqual(every(true));
    await edit(document, { privacy_level: 1 });
    expect(await isSearched(document, reader)).toBe(true);
    const { active_generation } = (
      await test.appliance.sql`SELECT active_generation FROM documents WHERE id = ${document.id}`
    )[0] as { active_generation: unknown };
    expect(active_generation).not.toBeNull();
  });

  it('an edit of a document above the auth level of the caller is refused without showing the document', async () => {
    const admin = await makeUserToken(test.appliance, { role: 'admin', authLevel: 4 });
    const document = await ingest();
    await edit(document, { privacy_level: 8 });
    const path = `${DOCUMENTS}/${document.id}/metadata`;
    const { status, body } = await test.call('PATCH', path, { key: admin, json: { privacy_level: 1 } });
    expect([status, JSON.stringify(body).includes(document.word)]).toEqual([403, false]);
    expect((await stateOf(document.id)).privacy_level).toBe(8);
  });
});

describe('documents that are not searchable', () => {
  it.each([
    ['SOFTDELETE', ({ word }: Document) => ({ statement: `SOFTDELETE FROM documents WHERE word = '${word}'` })],
    ['searchable = false', ({ word }: Document) => ({ where: { word }, searchable: false })],
    [
      'SET searchable = FALSE',
      ({ word }: Document) => ({ statement: `UPDATE documents SET searchable = FALSE WHERE word = '${word}'` }),
    ],
  ])(
    'a document hidden by %s is kept, and found again once searchable=true has restored its vectors',
    async (_, request) => {
      const document = await ingest();
      const { word } = document;
      const { chunks_count: chunks } = await stateOf(document.id);
      const gone = await bulk(request(document));
      expect(gone).toMatchObject({ matched: 1, updated: 1, reindex_queued: 0, indexed_vectors_deleted: chunks });
      expect(gone.items).toMatchObject([{ id: document.id, searchable: false, indexed_vectors_deleted: chunks }]);
      expect(await isSearched(document, manager)).toBe(false);
      expect(await stateOf(document.id)).toMatchObject({ searchable: false, metadata: { word } });
      expect((await test.call('GET', `/v1/jobs/${document.jobId}/download`, { key: manager })).status).toBe(200);

      const back = await bulk({ where: { word }, searchable: true });
      expect(back).toMatchObject({ matched: 1, updated: 1, reindex_queued: 1, indexed_vectors_deleted: 0 });
      await until(async () => (await stateOf(document.id)).status === 'ready', { what: 'reindex' });
      expect(await isSearched(document, manager)).toBe(true);
      expect(await stateOf(document.id)).toMatchObject({ searchable: true, chunks_count: chunks });
    },
  );

  it('a reindex does not bring back a document that is not searchable', async () => {
    const document = await ingest();
    await bulk({ where: { word: document.word }, searchable: false });
    const { body } = await edit(document, { metadata: { tag: 'x' }, reindex: true });
    expect(body).toMatchObject({ reindex_queued: false, metadata: { tag: 'x' } });
    expect(body.warnings).toEqual(['search is disabled, so nothing was reindexed']);
    expect(await isSearched(document, manager)).toBe(false);
  });

  it('a document reindexed by an edit is found by its new metadata as soon as it is ready', async () => {
    const document = await ingest();
    const { body } = await edit(document, { metadata: { tag: 'new' }, reindex: true });
    expect(body).toMatchObject({ reindex_queued: true, indexed_vectors_deleted: 1 });
    await until(
      async () => (await test.call('GET', `/v1/jobs/${body.reindex_job_id}`, { key: manager })).body.status === 'ready',
      { what: 'reindex' },
    );
    const json = { query: document.word, filter: { tag: 'new' } };
    const found = await test.call('POST', '/v2/buckets/default/search', { key: manager, json });
    expect(found.body.results.map((result: { document_id: string }) => result.document_id)).toEqual([document.id]);
  });
});
