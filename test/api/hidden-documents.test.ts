import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { createGroup } from '../../src/access/groups/groups.ts';
import { purgeDeleted } from '../../src/documents/remove-documents.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { storeFile } from '../support/stored-file.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

// Whatever a caller sends, the answer is the same whether hidden documents are there or not.

let test: TestApi;
/** Key that may edit, with auth level 3. */
let low: string;
let operator: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  low = await test.key({ scopes: ['documents:write', 'search', 'buckets:manage'], authLevel: 3 });
  operator = await test.key({ scopes: ['documents:write', 'search', 'buckets:manage'], authLevel: 10 });
  await createGroup(test.appliance.sql, test.operator, { name: 'board', members: [`key:${operator.split('_')[1]}`] });
});
afterAll(() => test.close());

const HIDING = { level: { privacy_level: 9 }, group: { access: { groups: ['board'] } } };

let buckets = 0;
/** Make a bucket with two visible documents, and with `hidden` documents of level 9, or of a group of the operator. */
async function fill(hidden: number, by: 'level' | 'group' = 'level'): Promise<string> {
  const name = `b${++buckets}`;
  await test.call('POST', '/v1/buckets', { key: operator, json: { name } });
  for (let n = 0; n < 2 + hidden; n++) {
    const json = {
      ...{ filename: `${n}.txt`, text: `text ${n}`, on_duplicate: 'allow', ...(n < 2 ? {} : HIDING[by]) },
      metadata: { team: 'a', salary: n < 2 ? 'low' : '90210', scope: 'common' },
    };
    expect((await test.call('POST', `/v1/buckets/${name}/documents`, { key: operator, json })).status).toBe(202);
  }
  return name;
}

const withoutIds = (body: unknown, name: string) =>
  JSON.stringify(body)
    .replace(/(?:doc|bkt|job)_[a-z0-9]{26}|\d{4}-\d\d-\d\dT[^"]*/g, 'x')
    .replaceAll(name, 'name');

it.each<[string, (name: string) => { method: string; path: string; json?: object }]>([
  ...[
    `UPDATE documents SET x = '1' WHERE salary LIKE '9%'`,
    `UPDATE documents SET x = '1' WHERE team = 'a'`,
    `UPDATE documents SET x = '1' WHERE team = 'a' LIMIT 1`,
    `UPDATE documents SET x = '1' WHERE privacy_level > 3`,
    `SOFTDELETE FROM documents WHERE salary = '90210'`,
    `SELECT documents WHERE salary = '90210'`,
    `SELECT documents LIMIT 2`,
  ].map((statement): [string, (name: string) => { method: string; path: string; json: object }] => [
    `the preview of ${statement}`,
    (name) => ({
      ...{ method: 'PATCH', path: `/v1/buckets/${name}/documents/metadata/bulk` },
      json: { statement, dry_run: true, reindex: false },
    }),
  ]),
  [
    'an edit by fields',
    (name) => ({
      ...{ method: 'PATCH', path: `/v1/buckets/${name}/documents/metadata/bulk` },
      json: { where: { salary: '90210' }, metadata: { x: '1' }, reindex: false },
    }),
  ],
  [
    'an edit with a limit, and its advice for the next page',
    (name) => ({
      ...{ method: 'PATCH', path: `/v1/buckets/${name}/documents/metadata/bulk` },
      json: { where: { team: 'a' }, metadata: { x: '1' }, reindex: false, limit: 2 },
    }),
  ],
  ['the bucket', (name) => ({ method: 'GET', path: `/v1/buckets/${name}` })],
  [
    'an edit of the policy',
    (name) => ({
      ...{ method: 'PATCH', path: `/v1/buckets/${name}` },
      json: { policy: { max_privacy_level: 2, departments: ['sales'], allow_public: false } },
    }),
  ],
  ['a list of documents', (name) => ({ method: 'GET', path: `/v1/buckets/${name}/documents?limit=2` })],
])('%s tells nothing of hidden documents', async (_, requestTo) => {
  const answers: unknown[] = [];
  for (const [hidden, by] of [
    [0, 'level'],
    [3, 'level'],
    [3, 'group'],
  ] as const) {
    const name = await fill(hidden, by);
    const { method, path, ...options } = requestTo(name);
    const { status, body } = await test.call(method, path, { key: low, ...options });
    expect(status).toBe(200);
    answers.push(withoutIds(body, name).replace(/"(size_bytes|sha256)":("[^"]*"|\d+)/g, ''));
  }
  expect(answers.slice(1)).toEqual([answers[0], answers[0]]);
});

it('a bucket that holds something hidden is not deleted, and the refusal tells neither what nor how much', async () => {
  const owner = await makeUserToken(test.appliance, { role: 'owner', authLevel: 3 });
  const key = await test.key({ scopes: ['buckets:manage'], authLevel: 10 });
  for (const [hidden, credential, status] of [
    [0, key, 403],
    [1, owner, 403],
    [3, owner, 403],
    [0, owner, 200],
    [3, await makeUserToken(test.appliance, { role: 'owner', authLevel: 9 }), 200],
  ] as const) {
    const name = await fill(hidden);
    const answer = await test.call('DELETE', `/v1/buckets/${name}?confirm=${name}`, { key: credential });
    expect([hidden, answer.status]).toEqual([hidden, status]);
    if (hidden > 0 && status === 403) {
      expect(answer.body).toEqual({
        detail: 'the bucket has contents that you may not see; ask an administrator with a higher auth level',
      });
    }
    const left = await test.call('GET', `/v1/buckets/${name}/documents`, { key: operator });
    expect(left.status).toBe(status === 200 ? 404 : 200);
  }
});

it('an upload that asks to be public needs the scope that the edit needs', async () => {
  const writer = await test.key({ scopes: ['documents:write'] });
  const member = await makeUserToken(test.appliance, { role: 'member' });
  const upload = (key: string, public_accessible: boolean) =>
    test.call('POST', '/v1/buckets/default/documents', {
      key,
      json: { filename: 'a.txt', text: 'open', on_duplicate: 'allow', public_accessible },
    });
  for (const key of [writer, member]) {
    expect((await upload(key, true)).status).toBe(403);
    expect((await upload(key, false)).status).toBe(202);
  }
  expect((await upload(low, true)).status).toBe(202);
});

it('embedding a bucket anew, and its estimate, are refused to a caller from whom it hides something', async () => {
  const [open, closed] = [await fill(0), await fill(1)];
  const grouped = await fill(1, 'group');
  for (const dry_run of [true, false]) {
    const reembed = (name: string, key: string) =>
      test.call('POST', `/v1/buckets/${name}/reembed`, { key, json: { dry_run } });
    expect((await reembed(closed, low)).body).toEqual({ detail: expect.stringContaining('that you may not see') });
    expect((await reembed(grouped, low)).status).toBe(403);
    // Nothing is indexed here, which only those learn who may see all of the bucket.
    expect((await reembed(closed, low)).status).toBe(403);
    expect((await reembed(open, low)).status).toBe(409);
    expect((await reembed(closed, operator)).status).toBe(409);
    expect((await reembed(grouped, operator)).status).toBe(409);
  }
});

it('a job of a whole bucket is hidden from a caller from whom the bucket hides something, and has a size in bytes', async () => {
  const name = await fill(3);
  const owner = await makeUserToken(test.appliance, { role: 'owner', authLevel: 9 });
  const bucket = await test.call('GET', `/v1/buckets/${name}`, { key: owner });
  const deletion = await test.call('PATCH', `/v1/buckets/${name}/documents/metadata/bulk`, {
    key: owner,
    json: {
      statement: "HARDDELETE FROM documents WHERE salary = '90210' LIMIT 2",
      confirm: `HARDDELETE ${bucket.body.id}`,
    },
  });
  expect(deletion.status).toBe(202);
  const seenBy = async (key: string) => [
    (await test.call('GET', `/v1/jobs/${deletion.body.job_id}`, { key })).status,
    (await test.call('GET', `/v1/jobs?limit=200`, { key })).body.some(
      ({ id }: { id: string }) => id === deletion.body.job_id,
    ),
  ];
  expect(await seenBy(low)).toEqual([404, false]);
  expect(await seenBy(owner)).toEqual([200, true]);
  const { body } = await test.call('GET', `/v1/jobs/${deletion.body.job_id}`, { key: owner });
  const [sizes] = await test.appliance.sql`
    SELECT sum(size_bytes)::int AS bytes FROM documents WHERE bucket_id = ${bucket.body.id} AND status = 'deleting'`;
  expect(body).toMatchObject({ file_name: 'documents', file_size: sizes?.['bytes'] });
  expect(body.file_size).toBeGreaterThan(2);
});

it('a job of a whole bucket stays hidden once the documents are removed that were hidden', async () => {
  const name = await fill(2);
  const owner = await makeUserToken(test.appliance, { role: 'owner', authLevel: 9 });
  const bucket = await test.call('GET', `/v1/buckets/${name}`, { key: owner });
  const json = {
    statement: "HARDDELETE FROM documents WHERE salary = '90210'",
    confirm: `HARDDELETE ${bucket.body.id}`,
  };
  const deletion = await test.call('PATCH', `/v1/buckets/${name}/documents/metadata/bulk`, { key: owner, json });
  const { job_id: jobId } = deletion.body;
  const { sql } = test.appliance;
  // As if the job had ended and left the documents to the removal, which takes one level after the other.
  await sql`UPDATE jobs SET status = 'failed', completed_at = now() WHERE id = ${jobId}`;
  await sql`UPDATE documents SET privacy_level = 2 WHERE bucket_id = ${bucket.body.id} AND id IN (
    SELECT max(id) FROM documents WHERE bucket_id = ${bucket.body.id} AND status = 'deleting')`;
  const { documents } = test.appliance;
  const seenBy = async (key: string) => (await test.call('GET', `/v1/jobs/${jobId}`, { key })).status;
  expect([await seenBy(low), await seenBy(owner)]).toEqual([404, 200]);
  await purgeDeleted(documents.removal, new AbortController().signal);
  const left = await sql`SELECT 1 FROM documents WHERE bucket_id = ${bucket.body.id}`;
  expect(left).toHaveLength(2);
  expect([await seenBy(low), await seenBy(owner)]).toEqual([404, 200]);
  // Each different access is kept once.
  expect((await sql`SELECT removed_access FROM jobs WHERE id = ${jobId}`)[0]?.['removed_access']).toHaveLength(2);
});

it('the job of a removed document is shown to those who could read the document, and to no others', async () => {
  const keyOf = (authLevel: number) =>
    test.key({ scopes: ['documents:write', 'jobs:write'], authLevel, org: 'removing' });
  const [reader, able, other] = [await keyOf(3), await keyOf(9), await keyOf(9)];
  const seesAll = await test.key({ scopes: ['platform_admin', 'jobs:write'], authLevel: 10, org: 'removing' });
  const documents = '/v1/buckets/default/documents';
  const upload = async (privacy_level: number) => {
    const json = { filename: 'a.txt', text: `level ${privacy_level}`, privacy_level };
    return (await test.call('POST', documents, { key: able, json })).body as { id: string; job_id: string };
  };
  const [open, hidden] = [await upload(2), await upload(9)];
  const seenBy = async (key: string) => {
    const { body: all } = await test.call('GET', '/v1/jobs', { key });
    const { body: overview } = await test.call('GET', '/v1/overview', { key });
    const { body: ofHidden } = await test.call('GET', `/v1/jobs?document_id=${hidden.id}`, { key });
    return {
      listed: all.map(({ id }: { id: string }) => id).toSorted(),
      ended: overview.jobs.last_day.cancelled,
      ofHidden: ofHidden.length,
      read: (await test.call('GET', `/v1/jobs/${hidden.job_id}`, { key })).status,
      files: (await test.call('GET', `/v1/jobs/${hidden.job_id}/files`, { key })).status,
    };
  };
  for (const { id } of [open, hidden]) await test.call('DELETE', `${documents}/${id}`, { key: able });
  const { sql } = test.appliance;
  const left = () => sql`SELECT 1 FROM documents WHERE id IN ${sql([open.id, hidden.id])}`;
  await until(async () => (await left()).length === 0, { what: 'the removal of both documents', withinMs: 30_000 });
  const both = { listed: [open.job_id, hidden.job_id].toSorted(), ended: 2, ofHidden: 1, read: 200, files: 200 };
  expect(await seenBy(reader)).toEqual({ listed: [open.job_id], ended: 1, ofHidden: 0, read: 404, files: 404 });
  expect(await seenBy(other)).toEqual(both);
  expect(await seenBy(seesAll)).toEqual(both);
  const remove = (key: string) => test.call('DELETE', `/v1/jobs/${hidden.job_id}`, { key });
  expect((await remove(reader)).status).toBe(404);
  // A release before this one kept nothing of a removed document: its job is shown to those only who may read everything.
  await sql`UPDATE jobs SET document_access = NULL WHERE id = ${hidden.job_id}`;
  expect((await seenBy(other)).read).toBe(404);
  expect(await seenBy(seesAll)).toEqual(both);
  expect((await remove(seesAll)).status).toBe(204);
});

it('the history of a document is shown to administrators who may read it, and of a removed one to those who read all', async () => {
  const [admin, higher, highest] = await Promise.all(
    [7, 9, 10].map((authLevel) => makeUserToken(test.appliance, { role: 'admin', authLevel })),
  );
  const documents = '/v1/buckets/default/documents';
  const make = async (privacy_level: number) => {
    const json = { filename: 'a.txt', text: `history ${privacy_level}`, privacy_level, metadata: { pay: '1' } };
    const { id } = (await test.call('POST', documents, { key: operator, json })).body;
    const edit = { metadata: { pay: '90210' }, reindex: false };
    await test.call('PATCH', `${documents}/${id}/metadata`, { key: operator, json: edit });
    return id as string;
  };
  const [open, hidden] = [await make(7), await make(9)];
  const read = async (id: string) => {
    const answers = await Promise.all(
      [admin, higher, highest].map((key) => test.call('GET', `/v1/documents/${id}/history`, { key: key as string })),
    );
    return answers.map(({ status, body }) => (status === 200 ? body.data.length > 0 : status));
  };
  expect(await read(open)).toEqual([true, true, true]);
  expect(await read(hidden)).toEqual([404, true, true]);
  for (const id of [open, hidden]) await test.call('DELETE', `${documents}/${id}`, { key: operator });
  const { sql } = test.appliance;
  const left = () => sql`SELECT 1 FROM documents WHERE id IN ${sql([open, hidden])}`;
  await until(async () => (await left()).length === 0, { what: 'the removal of both documents', withinMs: 30_000 });
  for (const id of [open, hidden]) expect(await read(id)).toEqual([404, 404, true]);
  expect(await read('doc_00000000000000000000000000')).toEqual([404, 404, 404]);
});

it('a file of a vector store exists only for those who may see a document of it, in every answer', async () => {
  const scopes: Scope[] = ['embed', 'search', 'documents:write', 'buckets:manage'];
  const high = await test.key({ scopes, authLevel: 10 });
  const reader = await test.key({ scopes, authLevel: 3 });
  const file = await storeFile(test, high, 'assistants');
  const add = (key: string, name: string) =>
    test.call('POST', `/v1/vector_stores/${name}/files`, { key, json: { file_id: file } });
  const seenBy = async (key: string) => {
    const listed = await test.call('GET', '/v1/files', { key });
    const [one, content] = [`/v1/files/${file}`, `/v1/files/${file}/content`];
    return [
      listed.body.data.some(({ id }: { id: string }) => id === file),
      (await test.call('GET', one, { key })).status === 200,
      (await test.call('GET', content, { key })).status === 200,
    ];
  };
  const [seen, hidden] = [
    [true, true, true],
    [false, false, false],
  ];
  expect(await seenBy(reader)).toEqual(seen);
  const names = [await fill(0), await fill(0), await fill(0)] as const;
  const { body: added } = await add(high, names[0]);
  expect(added.id).toBe(file);
  expect(await seenBy(reader)).toEqual(seen);
  const { sql } = test.appliance;
  const board = ['group:board'];
  const hide = async (name: string, change: { readonly [column: string]: unknown }) => {
    const [bucket] = await sql`SELECT id FROM buckets WHERE name = ${name}`;
    await sql`UPDATE documents SET ${sql(change)} WHERE bucket_id = ${bucket?.['id']} AND object_key LIKE 'files/%'`;
  };
  for (const change of [{ privacy_level: 9 }, { access_list: board, privacy_level: 1 }, { scope: 'sales' }]) {
    await hide(names[0], change);
    expect(await seenBy(reader)).toEqual(hidden);
    expect((await add(reader, names[1])).body.error).toMatchObject({ code: 'file_not_found' });
  }
  await hide(names[0], { access_list: null, scope: null, privacy_level: 9 });
  expect(await seenBy(high)).toEqual(seen);
  // One document that the caller sees is enough.
  expect((await add(high, names[2])).status).toBe(200);
  expect(await seenBy(reader)).toEqual(seen);
  expect((await add(reader, names[0])).body.error).toMatchObject({ code: 'file_in_store' });
  await hide(names[2], { privacy_level: 9 });
  expect(await seenBy(reader)).toEqual(hidden);
  await sql`UPDATE documents SET status = 'deleting' WHERE object_key LIKE 'files/%'`;
  expect(await seenBy(reader)).toEqual(seen);
});

it('cancelling a batch of files cancels nothing that the caller may not see', async () => {
  const scopes: Scope[] = ['embed', 'search', 'documents:write', 'buckets:manage'];
  const high = await test.key({ scopes, authLevel: 10 });
  const reader = await test.key({ scopes, authLevel: 3 });
  const file_ids = [await storeFile(test, high, 'assistants'), await storeFile(test, high, 'assistants')];
  const path = `/v1/vector_stores/${await fill(0)}/file_batches`;
  const { body: batch } = await test.call('POST', path, { key: high, json: { file_ids } });
  const { sql } = test.appliance;
  const jobs = () => sql`
    SELECT j.status, d.privacy_level AS level FROM jobs j JOIN documents d ON d.id = j.document_id
    WHERE d.object_key LIKE ${`%${file_ids[0]}`} OR d.object_key LIKE ${`%${file_ids[1]}`} ORDER BY level`;
  await sql`UPDATE documents SET privacy_level = 9 WHERE object_key LIKE ${`%${file_ids[1]}`}`;
  const cancelled = await test.call('POST', `${path}/${batch.id}/cancel`, { key: reader });
  expect(cancelled.body.file_counts).toMatchObject({ cancelled: 1, in_progress: 0, total: 1 });
  expect(await jobs()).toMatchObject([{ status: 'cancelled' }, { status: 'queued', level: 9 }]);
  await test.call('POST', `${path}/${batch.id}/cancel`, { key: high });
  expect(await jobs()).toMatchObject([{ status: 'cancelled' }, { status: 'cancelled' }]);
});
