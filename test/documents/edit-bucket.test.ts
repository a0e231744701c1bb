import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { makeUserToken } from '../support/tokens.ts';

let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['documents:write', 'search', 'buckets:manage'], authLevel: 10 });
});
afterAll(() => test.close());

const DEFAULT = { max_privacy_level: 10, public_max_privacy_level: 1, allow_public: true };
let buckets = 0;
let name: string;
let bucketId: string;
beforeEach(async () => {
  name = `edited-${++buckets}`;
  bucketId = (await test.call('POST', '/v1/buckets', { key, json: { name } })).body.id;
});

const edit = (json: unknown, ref = name, credential = key): Promise<Answer> =>
  test.call('PATCH', `/v1/buckets/${ref}`, { key: credential, json });
const stateOf = async (id: string) => (await test.call('GET', `/v1/buckets/${bucketId}/documents/${id}`, { key })).body;

async function upload(fields: object): Promise<string> {
  const json = { filename: 'a.txt', text: 'a', on_duplicate: 'allow', ...fields };
  const { status, body } = await test.call('POST', `/v1/buckets/${bucketId}/documents`, { key, json });
  expect([status, body.warnings]).toEqual([202, expect.any(Array)]);
  return body.id;
}

describe('PATCH /v1/buckets/{bucket}', () => {
  it('an edit of a bucket changes the fields that it names and nothing else', async () => {
    const first = await edit({ policy: { max_privacy_level: 6 } });
    expect(first).toMatchObject({ status: 200, body: { id: bucketId, name, warnings: [] } });
    expect(first.body.policy).toEqual({ ...DEFAULT, max_privacy_level: 6 });
    const second = await edit({ policy: { departments: ['sales'], allow_public: false } }, bucketId);
    expect(second.body.policy).toEqual({
      ...{ max_privacy_level: 6, public_max_privacy_level: 1, allow_public: false, departments: ['sales'] },
    });
    const renamed = await edit({ name: `${name}.b` });
    expect(renamed.body).toMatchObject({ id: bucketId, name: `${name}.b`, policy: second.body.policy });
    const open = await edit({ policy: { departments: null } }, `${name}.b`);
    expect(open.body.policy).toEqual({ ...DEFAULT, max_privacy_level: 6, allow_public: false });
    const { warnings: _, ...shown } = open.body;
    expect((await test.call('GET', `/v1/buckets/${bucketId}`, { key })).body).toEqual({
      ...{ ...shown, document_count: 0, embedding: null, words_only_chunks: 0 },
    });
    expect(await edit({}, bucketId)).toMatchObject({ status: 200, body: { ...shown, updated_at: expect.any(String) } });
  });

  it('an edit of a bucket is recorded in the audit log with its actor and its changes', async () => {
    await edit({ policy: { max_privacy_level: 4 }, name: `${name}-c` });
    const rows = await test.appliance
      .sql`SELECT actor, detail FROM audit_log WHERE action = 'bucket.edit' AND target = ${bucketId}`;
    expect(rows).toEqual([
      {
        actor: expect.stringMatching(/^key:/),
        detail: {
          before: { name, policy: DEFAULT },
          after: { name: `${name}-c`, policy: { ...DEFAULT, max_privacy_level: 4 } },
          made_private: 0,
        },
      },
    ]);
  });

  it.each([
    [{ name: 'bkt_x' }, 'must not start with "bkt_"'],
    [{ name: '' }, 'must be 1 to 63 characters'],
    [{ policy: { max_privacy_level: 0 } }, 'policy.max_privacy_level'],
    [{ policy: { public_max_privacy_level: 11 } }, 'policy.public_max_privacy_level'],
    [{ policy: { allow_public: 'yes' } }, 'policy.allow_public'],
    [{ policy: { departments: [''] } }, 'policy.departments'],
    [{ policy: [] }, 'policy'],
  ])('the edit %j is refused', async (json, message) => {
    const reply = await edit(json);
    expect(reply.status).toBe(400);
    expect(reply.body.detail).toContain(message);
  });

  it('only bucket managers of the organization may edit a bucket', async () => {
    await test.key({ org: 'other' });
    const callers: [string, number][] = [
      [await test.key({ scopes: ['documents:write', 'search', 'jobs:write'] }), 403],
      [await makeUserToken(test.appliance, { role: 'member' }), 403],
      [await makeUserToken(test.appliance, { role: 'owner', org: 'other' }), 404],
      [await makeUserToken(test.appliance, { role: 'admin' }), 200],
    ];
    for (const [credential, status] of callers) {
      expect((await edit({ policy: { max_privacy_level: 9 } }, bucketId, credential)).status).toBe(status);
    }
    expect((await edit({}, 'missing')).status).toBe(404);
    expect(await edit({ name: 'default' })).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('exists') },
    });
  });
});

describe('documents beyond a new policy', () => {
  it('public documents beyond a new policy become private, and others keep their levels and departments', async () => {
    const open = await upload({ public_accessible: true });
    await edit({ policy: { public_max_privacy_level: 3 } });
    const middle = await upload({ public_accessible: true, privacy_level: 3 });
    const secret = await upload({ privacy_level: 9 });
    const sales = await upload({ metadata: { scope: 'sales' } });
    const common = await upload({ metadata: { scope: 'common' } });
    const policy = { max_privacy_level: 5, public_max_privacy_level: 1, departments: ['legal'] };
    const owner = await makeUserToken(test.appliance, { role: 'owner', authLevel: 10 });
    const strict = await edit({ policy }, bucketId, owner);
    expect(strict.body.warnings).toEqual([
      'documents that were public beyond the policy are private now: 1',
      'documents with a privacy_level above 5 keep it: 1',
      'documents of departments that are not listed keep their department: 1',
    ]);
    expect(await stateOf(open)).toMatchObject({ public_accessible: true });
    expect(await stateOf(middle)).toMatchObject({ public_accessible: false, privacy_level: 3 });
    expect(await stateOf(secret)).toMatchObject({ privacy_level: 9 });
    const admin = await makeUserToken(test.appliance, { role: 'admin' });
    const path = (id: string) => `/v1/buckets/${bucketId}/documents/${id}`;
    expect((await test.call('GET', path(sales), { key: admin })).body.scope).toBe('sales');
    expect(await stateOf(common)).toMatchObject({ scope: 'common' });
    const closed = await edit({ policy: { allow_public: false } });
    expect(closed.body.warnings[0]).toBe('documents that were public beyond the policy are private now: 1');
    expect(await stateOf(open)).toMatchObject({ public_accessible: false });
  });

  it('no document stays public beyond a new policy, whatever uploads and edits run at the same time', async () => {
    const ids = [await upload({}), await upload({}), await upload({})];
    const publish = (id: string) =>
      test.call('PATCH', `/v1/buckets/${bucketId}/documents/${id}/metadata`, {
        key,
        json: { public_accessible: true, reindex: false },
      });
    const bulk = () =>
      test.call('PATCH', `/v1/buckets/${bucketId}/documents/metadata/bulk`, {
        key,
        json: { statement: `UPDATE documents SET public_accessible = TRUE WHERE id > ''`, reindex: false },
      });
    for (let round = 0; round < 5; round++) {
      await edit({ policy: { allow_public: true } });
      const work = [
        ...ids.map(publish),
        ...Array.from({ length: 4 }, () => upload({ public_accessible: true })),
        bulk(),
        edit({ policy: { allow_public: false } }),
      ];
      await Promise.all(work);
      const open = await test.appliance
        .sql`SELECT id FROM documents WHERE bucket_id = ${bucketId} AND public_accessible`;
      expect(open).toHaveLength(0);
    }
  });
});
