import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACCESS_POLICY_KEYS, DOCUMENT_STATE_KEYS, PIPELINE_RESERVED_KEYS } from '../../src/documents/user-metadata.ts';
import { fingerprint } from '../metadata/sample.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeUserToken } from '../support/tokens.ts';

// Tests of contract 4.14 and 7.5: shapes of the answers, and everything that can be wrong with a request.
let test: TestApi;
let key: string;
let admin: string;
let bucketId: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['buckets:manage', 'documents:write'], authLevel: 10 });
  admin = await makeUserToken(test.appliance, { role: 'owner' });
  bucketId = (await test.call('GET', '/v1/buckets/default', { key })).body.id;
});
afterAll(() => test.close());

const DOCUMENTS = '/v1/buckets/default/documents';
const bulk = (json: unknown, credential = key, place = DOCUMENTS) =>
  test.call('PATCH', `${place}/metadata/bulk`, { key: credential, json });
const edit = (id: string, json: unknown) => test.call('PATCH', `${DOCUMENTS}/${id}/metadata`, { key, json });
const find = async (id: string) => (await test.call('GET', `${DOCUMENTS}/${id}`, { key })).body;

let uploads = 0;
async function upload(metadata: Record<string, unknown> = {}): Promise<string> {
  const json = { filename: 'a.txt', text: `Text ${++uploads}.`, metadata };
  const { status, body } = await test.call('POST', DOCUMENTS, { key, json });
  expect(status).toBe(202);
  return body.id;
}

describe('edits of one document', () => {
  it('an edit of a document is answered with the document after the merge', async () => {
    const id = await upload({ team: 'a', gone: 'x' });
    const change = { metadata: { year: 2020, isNew: true, gone: null, scope: 'common' }, classification: 'restricted' };
    const { status, body } = await edit(id, { ...change, review_status: 'approved', privacy_level: 3 });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...{ id, bucket_id: bucketId, collection_id: null, metadata: { team: 'a', year: '2020', isNew: 'true' } },
      ...{ reindex_queued: true, reindex_job_id: expect.stringMatching(/^job_/), indexed_vectors_deleted: 0 },
      warnings: [],
    });
    expect(await find(id)).toMatchObject({
      ...{ metadata: body.metadata, classification: 'restricted', review_status: 'approved', privacy_level: 3 },
      scope: 'common',
    });
  });

  it('an edit is clamped by policy and by the level of the caller, with warnings', async () => {
    const id = await upload();
    const manager = await test.key({ scopes: ['buckets:manage'], authLevel: 4 });
    const path = `${DOCUMENTS}/${id}/metadata`;
    const json = { privacy_level: 9, public_accessible: true, reindex: false };
    const { status, body } = await test.call('PATCH', path, { key: manager, json });
    expect([status, body.warnings.length]).toEqual([200, 2]);
    expect(await find(id)).toMatchObject({ privacy_level: 4, public_accessible: false });
  });

  it('30 concurrent edits of different keys are all kept', async () => {
    const id = await upload();
    const keys = Array.from({ length: 30 }, (_, at) => `key_${at}`);
    const answers = await Promise.all(keys.map((name) => edit(id, { metadata: { [name]: name } })));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
    expect((await find(id)).metadata).toEqual(Object.fromEntries(keys.map((name) => [name, name])));
  });

  it('an edit ignores unknown fields and fields that the server writes', async () => {
    const id = await upload();
    const before = await find(id);
    const written = { internal_accessible: false, owner_department: 'x', uploaded_by_user_id: 'x', searchable: false };
    const { status } = await edit(id, { ...written, status: 'failed', id: 'x', dry_run: true, reindex: false });
    expect(status).toBe(200);
    expect(await find(id)).toEqual(before);
  });

  it.each([
    ['a missing document', `${DOCUMENTS}/doc_none/metadata`],
    ['a document of a missing bucket', '/v1/buckets/none/documents/doc_none/metadata'],
  ])('an edit of %s is a 404', async (_, path) => {
    const { status, body } = await test.call('PATCH', path, { key, json: {} });
    expect([status, body]).toEqual([404, { detail: expect.stringMatching(/not found/) }]);
  });

  it('other methods are a 405, and other content types a 415', async () => {
    const answer = await test.call('GET', `${DOCUMENTS}/doc_none/metadata`, { key });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, expect.stringContaining('PATCH')]);
    const path = `${DOCUMENTS}/metadata/bulk`;
    expect((await test.call('GET', path, { key })).status).toBe(405);
    expect((await test.call('PATCH', path, { key, body: 'statement=x' })).status).toBe(415);
  });
});

describe('edits of many documents', () => {
  it('the bulk route is not read as a document with the id "metadata"', async () => {
    const { status, body } = await bulk({ statement: 'SELECT documents LIMIT 1' });
    expect([status, body.bucket_id]).toEqual([200, bucketId]);
  });

  it('exactly the documents of the preview are changed', async () => {
    for (let at = 0; at < 4; at++) await upload({ group: 'preview', at });
    const statement = `UPDATE documents SET tag = 'x' WHERE group = 'preview' AND at < 3`;
    const before = await fingerprint(test.appliance.sql);
    const preview = await bulk({ statement, dry_run: true });
    expect(await fingerprint(test.appliance.sql)).toBe(before);
    expect(preview.body).toMatchObject({ matched: 3, updated: 0, skipped: 0, reindex_queued: 0, dry_run: true });
    const run = await bulk({ statement });
    expect(run.body).toMatchObject({ matched: 3, updated: 3, skipped: 0, reindex_queued: 3, dry_run: false });
    const idsOf = (answer: typeof run) => answer.body.items.map((item: { id: string }) => item.id);
    expect(idsOf(run)).toEqual(idsOf(preview));
    const changed = await test.appliance.sql`SELECT id FROM documents WHERE metadata ->> 'tag' = 'x' ORDER BY id`;
    expect(changed.map((row) => row['id'])).toEqual(idsOf(preview).toSorted());
  });

  it('documents are deleted for good only with the exact confirmation', async () => {
    const id = await upload({ group: 'confirm' });
    const statement = `HARDDELETE FROM documents WHERE group = 'confirm'`;
    const exact = `HARDDELETE ${bucketId}`;
    const wrong = [
      ...[undefined, '', 'HARDDELETE', 'HARDDELETE default', bucketId, exact.toLowerCase(), exact.toUpperCase()],
      ...[` ${exact}`, `${exact} `, `${exact}\n`, exact.replace(' ', '  '), exact.replace(' ', '\u00a0'), `${exact};`],
      ...[exact.replace('A', 'А') /* Cyrillic */, exact.replace('HARD', 'ＨＡＲＤ')],
    ];
    for (const confirm of wrong) {
      const { status, body } = await bulk({ statement, ...(confirm === undefined ? {} : { confirm }) }, admin);
      expect([confirm, status, body]).toEqual([confirm, 400, { detail: `confirm: must be "${exact}"` }]);
    }
    expect((await find(id)).status).toBe('queued');
    const { status, body } = await bulk({ statement, dry_run: true }, admin);
    expect([status, body.matched, body.job_id]).toEqual([200, 1, undefined]);
  });
});

/** Return a statement of exactly this many characters. */
const ofLength = (characters: number) => `SELECT documents WHERE a = 1`.padEnd(characters, ' ');
const nested = (levels: number) => `SELECT documents WHERE ${'('.repeat(levels)}a = 1${')'.repeat(levels)}`;

describe('bounds of edits', () => {
  it.each([
    ['a statement of 4,000 characters', { statement: ofLength(4000) }],
    ['parentheses 20 deep', { statement: nested(20) }],
    ['a limit of 1', { statement: 'SELECT documents', limit: 1 }],
    ['a limit of 2,000', { statement: 'SELECT documents LIMIT 2000', limit: 2000 }],
    ['a value of 512 characters', { where: { a: '👍'.repeat(512) }, dry_run: true }],
    ['unknown fields', { statement: 'SELECT documents', sql: 'DROP TABLE documents', org_id: 'x' }],
  ])('a bulk edit with %s is accepted', async (_, body) => {
    expect((await bulk(body)).status).toBe(200);
  });

  it.each([
    ['a statement of 4,001 characters', { statement: ofLength(4001) }, /4000/],
    ['a statement of 200,000 characters', { statement: ofLength(200_000) }, /4000/],
    ['parentheses 21 deep', { statement: nested(21) }, /line 1, column 44/],
    ['51 conditions', { statement: `SELECT documents WHERE ${Array(51).fill('a=1').join(' OR ')}` }, /50/],
    ['a limit of 0', { statement: 'SELECT documents', limit: 0 }, /limit/],
    ['a limit of 2,001', { statement: 'SELECT documents', limit: 2001 }, /limit/],
    ['a limit below 0', { where: { a: 1 }, limit: -1 }, /limit/],
    ['a limit of 1.5', { statement: 'SELECT documents', limit: 1.5 }, /limit/],
    ['a limit of 0 in the statement', { statement: 'SELECT documents LIMIT 0' }, /1 to 2000/],
    ['a limit of 2,001 in the statement', { statement: 'SELECT documents LIMIT 2001' }, /1 to 2000/],
    ['a value of 513 characters', { where: { a: 'x'.repeat(513) } }, /512/],
    [
      'a value of 513 characters in SET',
      { statement: `UPDATE documents SET a = '${'x'.repeat(513)}' WHERE b = 1` },
      /512/,
    ],
    ['a key of 65 characters', { statement: `UPDATE documents SET ${'k'.repeat(65)} = 1 WHERE b = 1` }, /64/],
    ['an empty statement', { statement: '' }, /end of the statement/],
    ['DELETE', { statement: 'DELETE FROM documents WHERE a = 1' }, /SOFTDELETE/],
    ['an UPDATE of everything', { statement: 'UPDATE documents SET a = 1' }, /WHERE/],
  ])('a bulk edit with %s is refused', async (_, body, message) => {
    const answer = await bulk(body);
    expect([answer.status, answer.body]).toEqual([400, { detail: expect.stringMatching(message) }]);
  });

  it.each([
    ['without a filter', { metadata: { seen: 1 } }],
    ['with an empty filter', { where: {}, metadata: { seen: 1 } }],
    ['with an empty body', {}],
    ['that takes everything out of search', { searchable: false }],
  ])('contract 4.14: a bulk edit %s is a preview', async (_, body) => {
    await upload({ kind: 'any' });
    const before = await fingerprint(test.appliance.sql);
    const answer = await bulk(body);
    expect(answer).toMatchObject({ status: 200, body: { dry_run: true, updated: 0, reindex_queued: 0 } });
    expect(answer.body.matched).toBeGreaterThan(0);
    expect(answer.body.warnings[0]).toContain('nothing was changed: a request without where is a preview');
    expect(await fingerprint(test.appliance.sql)).toBe(before);
  });

  it('a bulk edit of named documents changes only those, and only those that also match where', async () => {
    const ids = [await upload({ kind: 'named' }), await upload({ kind: 'named' }), await upload({ kind: 'other' })];
    await upload({ kind: 'named' });
    const foreign = await test.key({ org: 'foreign', scopes: ['documents:write'] });
    const file = { filename: 'theirs.txt', text: 'theirs' };
    const theirs = await test.call('POST', DOCUMENTS, { key: foreign, json: file });
    expect(theirs.status).toBe(202);
    const json = { document_ids: [...ids, theirs.body.id, 'doc_missing'], metadata: { seen: 'yes' }, reindex: false };
    const preview = await bulk({ ...json, dry_run: true });
    expect(preview.body).toMatchObject({ matched: 3, updated: 0, dry_run: true });
    expect(preview.body.items[0]).toMatchObject({
      before: { 'metadata.seen': null },
      after: { 'metadata.seen': 'yes' },
    });
    const run = await bulk({ ...json, where: { kind: 'named' } });
    expect(run.body).toMatchObject({ matched: 2, updated: 2, dry_run: false });
    expect(run.body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 2).toSorted());
    const detail = 'document_ids: cannot be combined with a statement; write WHERE id IN (…)';
    const both = await bulk({ document_ids: ids, statement: 'SELECT documents' });
    expect([both.status, both.body]).toEqual([400, { detail }]);
    const many = Array.from({ length: 501 }, (_, at) => `doc_${at}`);
    expect((await bulk({ document_ids: many, metadata: { seen: 'no' } })).status).toBe(400);
    const largest = { document_ids: many.slice(1), metadata: { seen: 'no' } };
    expect((await bulk(largest)).body).toMatchObject({ matched: 0, updated: 0 });
  });

  it('contract 4.14: a repeated bulk edit with a limit reaches every document, whatever stays as it is', async () => {
    for (let at = 0; at < 5; at++) await upload({ group: 'progress', at });
    await upload({ group: 'progress', done: 'yes' });
    const full = Object.fromEntries(Array.from({ length: 31 }, (_, at) => [`k${at}`, at]));
    await upload({ group: 'progress', ...full });
    const json = { where: { group: 'progress' }, metadata: { done: 'yes' }, limit: 2 };
    const changed: string[] = [];
    for (let run = 0; run < 3; run++) {
      const { body } = await bulk(json);
      const items = body.items as { id: string; metadata: Record<string, string>; reindex_job_id: string | null }[];
      expect(items.length).toBe(2);
      changed.push(...items.map(({ id }) => id));
    }
    expect(new Set(changed).size).toBe(6);
    const done = await bulk({ statement: `SELECT documents WHERE group = 'progress' AND done = 'yes'` });
    expect(done.body.matched).toBe(6);
    // A request for new vectors alone goes on with the documents that changed longest ago.
    const again = new Set<string>();
    for (let run = 0; run < 4; run++) {
      const { body } = await bulk({ where: { group: 'progress' }, limit: 2 });
      for (const { id } of body.items) again.add(id);
    }
    expect(again.size).toBe(7);
  });

  it.each([
    ...['metadata', 'where', 'statement', 'confirm', 'searchable', 'reindex', 'dry_run', 'limit', 'privacy_level'],
    ...['classification', 'review_status', 'public_accessible'],
  ])('a bulk edit whose %s has a wrong type is refused, naming the field', async (field) => {
    for (const value of [[1], { a: [] }, { a: {} }, 'x', 0, Number.MAX_VALUE, '1', 'true']) {
      const isText = field === 'statement' || field === 'confirm';
      if (isText && typeof value === 'string') continue;
      const { status, body } = await bulk({ where: { a: 'none' }, dry_run: true, [field]: value });
      expect([field, value, status, body.detail]).toEqual([field, value, 400, expect.stringContaining(field)]);
    }
  });

  it.each([
    ['privacy_level', [0, 11, -1, 1.5, '3', true]],
    ['classification', ['secret', '', 'INTERNAL', 1]],
    ['review_status', ['done', '', 'Approved', true]],
    ['public_accessible', ['true', 1]],
    ['reindex', ['false', 0]],
    [
      'metadata',
      [[], 'x', { a: {} }, { a: [1] }, { 'a b': 1 }, { ä: 1 }, { '': 1 }, { a: 'x\u0000' }, { a: '\u0085' }],
    ],
  ])('a single edit with a wrong %s is refused', async (field, values) => {
    const id = await upload();
    const before = await fingerprint(test.appliance.sql);
    for (const value of values) {
      const { status, body } = await edit(id, { [field]: value });
      expect([value, status, body]).toEqual([value, 400, { detail: expect.stringContaining(field) }]);
    }
    expect(await fingerprint(test.appliance.sql)).toBe(before);
  });
});

describe('reserved keys of metadata', () => {
  const RESERVED = [
    ...PIPELINE_RESERVED_KEYS,
    ...ACCESS_POLICY_KEYS.filter((name) => name !== 'scope'),
    ...DOCUMENT_STATE_KEYS,
    ...['schift.', 'schift.source_pk', 'Schift.source_pk', 'SCHIFT.x', '__proto__'],
  ];
  const SETTABLE = [
    ...['privacy_level', 'public_accessible', 'classification', 'review_status', 'searchable'],
    ...['access_users', 'access_groups'],
  ];
  const multipart = (metadata: string) => {
    const body = new FormData();
    body.append('metadata', metadata);
    body.append('file', new Blob(['x']), 'a.txt');
    return body;
  };

  it.each(RESERVED)('contract 2.7: the reserved key %s cannot be set in any position', async (name) => {
    const id = await upload({ kind: 'reserved' });
    const before = await fingerprint(test.appliance.sql);
    // The JSON is written by hand, since an object would lose __proto__.
    const metadata = `{"${name}":"x"}`;
    const json = { 'Content-Type': 'application/json' };
    const send = (method: string, path: string, body: string) => test.call(method, path, { key, body, headers: json });
    const SET = (written: string) => ({ statement: `UPDATE documents SET ${written} = 'x' WHERE kind = 'reserved'` });
    const answers = {
      single: await send('PATCH', `${DOCUMENTS}/${id}/metadata`, `{"metadata":${metadata}}`),
      bulk: await send('PATCH', `${DOCUMENTS}/metadata/bulk`, `{"where":{"kind":"reserved"},"metadata":${metadata}}`),
      quoted: await bulk(SET(`"${name}"`)),
      // A bare name sets a settable field of the document, and 'x' is no value of any of them.
      bare: await bulk(SET(name)),
      upload: await send('POST', DOCUMENTS, `{"filename":"a.txt","text":"x","metadata":${metadata}}`),
      // A field of a form is parsed later, which drops __proto__ without an effect.
      ...(name === '__proto__' ? {} : { form: await test.call('POST', DOCUMENTS, { key, body: multipart(metadata) }) }),
    };
    for (const [position, { status, body }] of Object.entries(answers)) {
      expect([position, status, body]).toEqual([position, 400, { detail: expect.any(String) }]);
    }
    expect(await fingerprint(test.appliance.sql)).toBe(before);
  });

  it.each(RESERVED.filter((name) => !SETTABLE.includes(name)))(
    'the error for the reserved key %s says why it is refused',
    async (name) => {
      const { body } = await bulk({ statement: `UPDATE documents SET ${name} = 'x' WHERE a = 1` });
      expect(body.detail).toMatch(/line 1, column 22: .*(written by the service|reserved by the service)/);
    },
  );
});

it.each(['9007199254740993', '-9007199254740993', '1746714878034235397', '1e21'])(
  'the integer %s, which JSON rounds, is refused as metadata and in where, and kept as a string',
  async (number) => {
    const headers = { 'Content-Type': 'application/json' };
    const send = (method: string, path: string, body: string) => test.call(method, path, { key, body, headers });
    const metadata = `"metadata":{"ext":${number}}`;
    const refusal = { status: 400, body: { detail: expect.stringContaining('send it as a string') } };
    expect(await send('POST', DOCUMENTS, `{"filename":"n.txt","text":"n",${metadata}}`)).toMatchObject(refusal);
    const id = await upload({ ext: number });
    expect((await find(id)).metadata).toEqual({ ext: number });
    expect(await send('PATCH', `${DOCUMENTS}/${id}/metadata`, `{${metadata}}`)).toMatchObject(refusal);
    const where = `{"where":{"ext":${number}},"dry_run":true}`;
    expect((await send('PATCH', `${DOCUMENTS}/metadata/bulk`, where)).status).toBe(400);
    expect((await bulk({ where: { ext: number }, dry_run: true })).body.matched).toBe(1);
  },
);
