import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import { createKey } from '../../src/access/keys.ts';
import { createUser } from '../../src/access/users.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

// Tests of who sees a document of a department, on every route that can show documents.
const BUCKET = '/v1/buckets/default';
const DOCUMENTS = `${BUCKET}/documents`;
const STORE = '/v1/vector_stores/default';
const SCOPES_OF_DOCUMENTS = ['sales', 'legal', 'common', null] as const;
type Scope = (typeof SCOPES_OF_DOCUMENTS)[number];

let test: TestApi;
let chat: FakeChat;
let uploader: string;
interface Document {
  readonly scope: Scope;
  readonly id: string;
  readonly job: string;
  readonly word: string;
}
const documents: Document[] = [];

beforeAll(async () => {
  chat = await startFakeChat('openai');
  test = await openTestApi({ settings: { answers: { protocol: 'openai', base_url: chat.url, model: 'chat-1' } } });
  uploader = await test.key({ scopes: ['documents:write', 'search'] });
  for (const [at, scope] of SCOPES_OF_DOCUMENTS.entries()) {
    const word = `puffin${at}x`;
    const metadata = { word, ...(scope === null ? {} : { scope }) };
    const json = { filename: 'copy.txt', text: `The ${word} nests on cliffs.`, metadata };
    const { body } = await test.call('POST', DOCUMENTS, { key: uploader, json });
    documents.push({ scope, id: body.id, job: body.job_id, word });
  }
  const ready = async () => (await test.appliance.sql`SELECT 1 FROM documents WHERE status = 'ready'`).length === 4;
  await until(ready, { what: 'ingest' });
});
afterAll(async () => {
  await test.close();
  await chat.close();
});

const keyOf = async (role: 'member' | 'admin', department: string) => {
  const { appliance, operator } = test;
  const user = await createUser(appliance.sql, operator, { email: `${role}@example.com`, role, department });
  const scopes = ['search', 'documents:write'] as const;
  const made = await createKey(appliance.sql, appliance.keyRing, operator, {
    name: 'k',
    userId: user.id,
    scopes: [...scopes],
  });
  return made.key.reveal();
};
const user = (role: Parameters<typeof makeUserToken>[1]['role'], department?: string) =>
  makeUserToken(test.appliance, { role, ...(department === undefined ? {} : { department }) });

const ALL: readonly Scope[] = SCOPES_OF_DOCUMENTS;
const OPEN: readonly Scope[] = ['common', null];
const CALLERS: [name: string, make: () => Promise<string>, sees: readonly Scope[]][] = [
  ['a member of the department', () => user('member', 'sales'), ['sales', ...OPEN]],
  ['a member of another department', () => user('member', 'finance'), OPEN],
  ['a member without a department', () => user('member'), OPEN],
  ['a member whose department is called common', () => user('member', 'common'), OPEN],
  ['an admin of another department', () => user('admin', 'finance'), ALL],
  ['an org_admin', () => user('org_admin'), ALL],
  ['an owner', () => user('owner'), ALL],
  ['a platform_admin', () => user('platform_admin'), ALL],
  [
    'a key without a user',
    () => test.key({ scopes: ['search', 'documents:write', 'buckets:manage'], authLevel: 10 }),
    OPEN,
  ],
  ['a key of a member of the department', () => keyOf('member', 'sales'), ['sales', ...OPEN]],
  ['a key of an admin, which has no admin role', () => keyOf('admin', 'legal'), ['legal', ...OPEN]],
  ['a key of the platform', () => test.key({ scopes: ['search', 'documents:write', 'platform_admin'] }), ALL],
];

/** Ask one route for a document. @returns true if the route shows it */
type Probe = (
  document: Document,
  send: (method: string, path: string, json?: unknown) => Promise<Answer>,
) => Promise<boolean>;

const listedBy = (
  found: (document: Document) => string,
  path: string,
  json?: (document: Document) => unknown,
): Probe => {
  return async (document, send) => {
    const { status, body } = await send(json ? 'POST' : 'GET', path, json?.(document));
    expect(status).toBe(200);
    return JSON.stringify(body).includes(found(document));
  };
};
const openedBy = (path: (document: Document) => string): Probe => {
  return async (document, send) => {
    const { status } = await send('GET', path(document));
    expect([200, 404]).toContain(status);
    return status === 200;
  };
};
const idOf = ({ id }: Document) => id;
const query = ({ word }: Document, rest: object = {}) => ({ query: `where the ${word} nests`, ...rest });

/** Probes of a document, by operation of the API. */
const PROBES: Readonly<Record<string, readonly Probe[]>> = {
  listDocuments: [listedBy(idOf, DOCUMENTS), listedBy(idOf, `${DOCUMENTS}?status=ready&limit=200`)],
  findDocuments: [
    listedBy(idOf, '/v1/documents?name=copy&limit=50'),
    (document, send) => listedBy(idOf, `/v1/documents?ids=${document.id}`)(document, send),
  ],
  getDocument: [openedBy(({ id }) => `${DOCUMENTS}/${id}`)],
  explainAccess: [openedBy(({ id }) => `${DOCUMENTS}/${id}/access`)],
  getDocumentText: [openedBy(({ id }) => `${DOCUMENTS}/${id}/text`)],
  findDocument: [openedBy(({ id }) => `/v1/documents/${id}`)],
  getDocumentChunks: [
    openedBy(({ id }) => `/v1/documents/${id}/chunks`),
    openedBy(({ id, word }) => `/v1/documents/${id}/chunks?find=${word}`),
    openedBy(({ id }) => `/v1/documents/${id}/chunks?offset=0`),
  ],
  getBucketMap: [listedBy(idOf, '/v1/buckets/default/map')],
  listJobs: [listedBy(({ word }) => word, '/v1/jobs'), listedBy(idOf, '/v1/jobs?bucket_id=default&status=ready')],
  getJob: [openedBy(({ job }) => `/v1/jobs/${job}`)],
  listJobFiles: [openedBy(({ job }) => `/v1/jobs/${job}/files`)],
  downloadJobFile: [openedBy(({ job }) => `/v1/jobs/${job}/download`)],
  searchBucket: [
    ...['hybrid', 'vector', 'keyword'].map((mode) =>
      listedBy(idOf, '/v2/buckets/default/search', (document) => query(document, { mode, top_k: 100 })),
    ),
    listedBy(idOf, '/v2/buckets/default/search', (document) => query(document, { filter: { word: document.word } })),
    listedBy(idOf, '/v2/buckets/default/search', (document) =>
      query(document, { filter: { type: 'ne', key: 'word', value: 'x' }, top_k: 1 }),
    ),
  ],
  searchBuckets: [
    listedBy(idOf, '/v2/search', (document) => query(document, { buckets: ['default'], top_k: 100 })),
    listedBy(idOf, '/v2/search', (document) => query(document, { buckets: ['default'], group_by: 'document' })),
  ],
  answerQuestion: [listedBy(idOf, '/v1/answers', (document) => query(document, { buckets: ['default'], top_k: 50 }))],
  searchVectorStore: [listedBy(idOf, '/v1/vector_stores/default/search', (document) => query(document))],
  listVectorStoreFiles: [listedBy(idOf, `${STORE}/files`), listedBy(idOf, `${STORE}/files?filter=completed&order=asc`)],
  getVectorStoreFile: [openedBy(({ id }) => `${STORE}/files/${id}`)],
  getVectorStoreFileContent: [openedBy(({ id }) => `${STORE}/files/${id}/content`)],
  searchMemory: [
    listedBy(idOf, '/v1/memory/search', (document) => query(document, { bucket: 'default' })),
    listedBy(idOf, '/v1/memory/search', (document) =>
      query(document, { buckets: ['default'], tags: [`word:${document.word}`], temporal: 'latest' }),
    ),
  ],
  editDocumentsMetadata: [
    async ({ word, id }, send) => {
      const statement = `SELECT documents WHERE word = '${word}'`;
      const { body } = await send('PATCH', `${DOCUMENTS}/metadata/bulk`, { statement });
      expect(JSON.stringify(body).includes(id)).toBe(body.matched === 1);
      return body.matched === 1;
    },
    async ({ scope, id }, send) => {
      const where = scope === null ? 'IS NULL' : `= '${scope}'`;
      const { body } = await send('PATCH', `${DOCUMENTS}/metadata/bulk`, {
        statement: `SELECT documents WHERE scope ${where}`,
      });
      return body.items.some((item: { id: string }) => item.id === id);
    },
  ],
  // An upload of the same bytes finds no duplicate if the caller may not see it. The new document is deleted again; until
  // then the caller sees its job, whose file name must not be that of the other document.
  uploadDocument: [
    async ({ word, id }, send) => {
      const json = { filename: 'copy.txt', text: `The ${word} nests on cliffs.` };
      const { body } = await send('POST', DOCUMENTS, json);
      if (body.duplicate_of === undefined) expect((await send('DELETE', `${DOCUMENTS}/${body.id}`)).status).toBe(200);
      return body.duplicate_of === id;
    },
  ],
};

/** Other operations on a bucket or a job, with the reason why they show no document. */
const SHOW_NOTHING: Readonly<Record<string, string>> = {
  showDocument: 'opened by a signed link only, which carries the rights of the caller whose search made it',
  getDocumentHistory: 'for people who see every document, by the matrix of routes and callers',
  reembedBucket: 'counts of the whole bucket, for callers that manage buckets',
  importVectors: 'documents that the caller may see, by test/api/vector-imports.test.ts',
  moveBucketIndex: 'counts of the whole bucket, for callers that manage buckets',
  rehearseSwitch: 'for callers that see every document of the bucket, by test/api/rehearsals.test.ts',
  ...{
    createBucket: 'no documents yet',
    getBucket: 'no documents',
    editBucket: 'counts alone',
    deleteBucket: 'no documents',
    getBucketSynonyms: 'words that managers of the bucket have given',
    setBucketSynonyms: 'words that the caller has given',
  },
  ...{ createWorkflowTrigger: 'no documents', listWorkflowTriggers: 'no documents' },
  ...{ removeWorkflowTrigger: 'no documents', startWorkflowByWebhook: 'no documents' },
  ...{ createWebhook: 'no documents', listWebhooks: 'no documents', getWebhook: 'no documents' },
  ...{ changeWebhook: 'no documents', deleteWebhook: 'no documents', rotateWebhookSecret: 'no documents' },
  ...{ listWebhookDeliveries: 'ids of documents', replayWebhookDelivery: 'ids of documents' },
  ...{ testWebhook: 'no documents', replayWebhook: 'a count alone' },
  ...{ changeMemorySource: 'counts of visible documents', listMemorySourceFaults: 'entries without documents' },
  ...{ previewMemorySource: 'names of entries that the source shows' },
  ...{ createMemorySource: 'no documents yet', syncMemorySource: 'a job alone', deleteMemorySource: 'a count alone' },
  ...{ listMemorySources: 'counts of visible documents', getMemorySource: 'counts of visible documents' },
  ...{ getBucketContents: 'counts of visible documents', listUsageByBucket: 'counts of visible documents' },
  ...{ listMemoryConnections: 'no documents' },
  ...{ listCollections: 'no documents', createCollection: 'no documents' },
  ...{ listVectorStores: 'counts of visible documents', getVectorStore: 'counts of visible documents' },
  ...{ createChatCompletion: 'the passages of answerQuestion', createAssistant: 'no documents' },
  ...{ createVectorStore: 'files of the caller', editVectorStore: 'counts of visible documents' },
  ...{ deleteVectorStore: 'no documents', createVectorStoreFile: 'a file of the caller' },
  ...{ editVectorStoreFile: 'see below', deleteVectorStoreFile: 'see below' },
  ...{
    createVectorStoreFileBatch: 'counts of visible documents',
    getVectorStoreFileBatch: 'counts of visible documents',
  },
  ...{ cancelVectorStoreFileBatch: 'counts of visible documents', listVectorStoreFileBatchFiles: 'a list of files' },
  ...{ deleteDocument: 'see below', editDocumentMetadata: 'see below' },
  ...{ cancelJob: 'see below', reprocessJob: 'see below', deleteJob: 'see below' },
  ...{ submitBulkJob: 'bulk', getBulkJob: 'bulk', cancelBulkJob: 'bulk', getBulkResult: 'bulk' },
};

describe('a document with a scope', () => {
  it.each(CALLERS)('%s finds exactly the documents of its scopes, on every route', async (_name, make, sees) => {
    const key = await make();
    const send = (method: string, path: string, json?: unknown) =>
      test.call(method, path, json === undefined ? { key } : { key, json });
    for (const document of documents) {
      const answers = Object.entries(PROBES).map(async ([operation, probes]) => {
        const found: boolean[] = [];
        for (const probe of probes) found.push(await probe(document, send));
        return [operation, found] as const;
      });
      const expected = Object.entries(PROBES).map(([operation, probes]) => [
        operation,
        probes.map(() => sees.includes(document.scope)),
      ]);
      expect([document.scope, await Promise.all(answers)]).toEqual([document.scope, expected]);
    }
    const [bucket] = (await send('GET', '/v1/buckets')).body.data;
    expect(bucket.document_count).toBe(sees.length);
  });

  it('a change of a document that the caller may not see is a 404', async () => {
    const [sales] = documents as [Document];
    const key = await test.key({
      scopes: ['documents:write', 'jobs:write', 'buckets:manage'],
      authLevel: 10,
    });
    const changes: [string, string][] = [
      ['DELETE', `${DOCUMENTS}/${sales.id}`],
      ['PATCH', `${DOCUMENTS}/${sales.id}/metadata`],
      ['DELETE', `${STORE}/files/${sales.id}`],
      ['POST', `${STORE}/files/${sales.id}`],
      ['POST', `/v1/jobs/${sales.job}/cancel?force=true`],
      ['POST', `/v1/jobs/${sales.job}/reprocess`],
      ['DELETE', `/v1/jobs/${sales.job}`],
    ];
    for (const [method, path] of changes) {
      const json =
        method === 'PATCH'
          ? { json: { metadata: { scope: 'common' } } }
          : path.startsWith(STORE) && method === 'POST'
            ? { json: { attributes: {} } }
            : {};
      expect([method, path, (await test.call(method, path, { key, ...json })).status]).toEqual([method, path, 404]);
    }
    const statement = `UPDATE documents SET scope = 'common' WHERE id = '${sales.id}'`;
    const bulk = await test.call('PATCH', `${DOCUMENTS}/metadata/bulk`, { key, json: { statement } });
    expect(bulk.body).toMatchObject({ matched: 0, updated: 0, skipped: 0, items: [], warnings: [] });
  });

  it('every operation on documents and jobs is covered by these tests', () => {
    const operations = apiRoutes(test.appliance, () => {})
      .filter((route) => /bucket|job|document|vector_store|memory/.test(route.path))
      .map((route) => route.operationId)
      .filter((operation) => operation !== 'listBuckets' && operation !== 'reapStaleJobs');
    const known = [...Object.keys(PROBES), ...Object.keys(SHOW_NOTHING)];
    expect(operations.filter((operation) => !known.includes(operation))).toEqual([]);
  });
});
