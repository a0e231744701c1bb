import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey } from '../../src/access/keys.ts';
import { createUser } from '../../src/access/users.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeUserToken } from '../support/tokens.ts';

let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['documents:write', 'buckets:manage'], authLevel: 7 });
  for (const [name, policy] of [
    ['open', { public_max_privacy_level: 3 }],
    ['strict', { max_privacy_level: 4, allow_public: false, departments: ['sales', 'legal'] }],
  ] as const) {
    await test.call('POST', '/v1/buckets', { key, json: { name, policy } });
  }
});
afterAll(() => test.close());

async function upload(bucket: string, fields: object, credential = key) {
  const json = { filename: 'a.txt', text: 'a', on_duplicate: 'allow', ...fields };
  const { status, body } = await test.call('POST', `/v1/buckets/${bucket}/documents`, { key: credential, json });
  if (status !== 202) return { status, detail: body.detail as string };
  const [row] = await test.appliance.sql`
    SELECT privacy_level, classification, public_accessible, review_status, scope, metadata FROM documents WHERE id = ${body.id}`;
  return { status, warnings: body.warnings as string[], ...row };
}

const PLAIN = {
  ...{ privacy_level: 1, classification: 'internal', public_accessible: false, review_status: 'pending' },
  ...{ scope: null, metadata: {} },
};

describe('the access policy of an upload', () => {
  it.each([
    ['open', {}, {}, []],
    [
      'open',
      { privacy_level: 6, classification: 'restricted' },
      { privacy_level: 6, classification: 'restricted' },
      [],
    ],
    ['open', { privacy_level: 9 }, { privacy_level: 7 }, ['privacy_level was lowered from 9 to 7 by policy']],
    ['strict', { privacy_level: 9 }, { privacy_level: 4 }, ['privacy_level was lowered from 9 to 4 by policy']],
    ['open', { public_accessible: true, privacy_level: 3 }, { public_accessible: true, privacy_level: 3 }, []],
    [
      'open',
      { public_accessible: true, privacy_level: 4 },
      { privacy_level: 4 },
      ['public_accessible is false: the bucket allows public documents up to privacy_level 3, and this one has 4'],
    ],
    ['strict', { public_accessible: true }, {}, ['public_accessible is false: the bucket allows no public documents']],
    ['strict', { metadata: { scope: 'common', a: 1 } }, { scope: 'common', metadata: { a: '1' } }, []],
    ['strict', { metadata: { scope: null } }, {}, []],
    [
      'strict',
      { metadata: { scope: 'sales' } },
      { scope: 'sales' },
      ['scope "sales" is not your department, so you can no longer find the document'],
    ],
  ])(
    'an upload into the bucket %s with %j gets the access of its policy',
    async (bucket, fields, expected, warnings) => {
      expect(await upload(bucket, fields)).toEqual({ status: 202, ...PLAIN, ...expected, warnings });
    },
  );

  it('the access fields of a multipart upload have the same effect', async () => {
    const body = new FormData();
    body.append('file', new Blob(['a']), 'a.txt');
    for (const [name, value] of [
      ['public_accessible', 'true'],
      ['privacy_level', '2'],
      ['on_duplicate', 'allow'],
    ] as const) {
      body.append(name, value);
    }
    const reply = await test.call('POST', '/v1/buckets/open/documents', { key, body });
    expect(reply).toMatchObject({ status: 202, body: { warnings: [] } });
    const [row] = await test.appliance
      .sql`SELECT privacy_level, public_accessible FROM documents WHERE id = ${reply.body.id}`;
    expect(row).toEqual({ privacy_level: 2, public_accessible: true });
  });

  it.each(
    ['privacy_level', 'classification', 'review_status', 'public_accessible', 'internal_accessible'].map((k) => [k]),
  )('an access field cannot be set by metadata: %s', async (name) => {
    const reply = await upload('open', { metadata: { [name]: 'public' } });
    expect(reply).toMatchObject({ status: 400, detail: expect.stringContaining('reserved') });
  });

  it.each([
    [{ classification: 'secret' }, 'classification'],
    [{ public_accessible: 'yes' }, 'public_accessible'],
    [{ privacy_level: 11 }, 'privacy_level'],
  ])('an upload with %j is refused', async (fields, message) => {
    expect(await upload('open', fields)).toMatchObject({ status: 400, detail: expect.stringContaining(message) });
  });

  it('an upload with a department that the bucket does not list is refused', async () => {
    const reply = await upload('strict', { metadata: { scope: 'finance' } });
    expect(reply).toEqual({
      status: 400,
      detail: "metadata.scope: must be one of the bucket's departments (sales, legal)",
    });
    for await (const { key: object } of test.appliance.objects.list('documents/')) {
      const [row] = await test.appliance.sql`SELECT 1 FROM documents WHERE id = ${object.split('/')[2] as string}`;
      expect([object, row !== undefined]).toEqual([object, true]);
    }
  });
});

describe('the department of an upload', () => {
  it('the department of an upload is that of the uploader, unless he is an administrator or a key without a user', async () => {
    const { appliance, operator } = test;
    const member = await makeUserToken(appliance, { role: 'member', department: 'sales' });
    const stranger = await makeUserToken(appliance, { role: 'member' });
    const admin = await makeUserToken(appliance, { role: 'admin' });
    const user = await createUser(appliance.sql, operator, {
      email: 'k@example.com',
      role: 'admin',
      department: 'sales',
    });
    const made = await createKey(appliance.sql, appliance.keyRing, operator, {
      name: 'of a user',
      userId: user.id,
      scopes: ['documents:write'],
    });
    const ofUser = made.key.reveal();
    const cases: [credential: string, scope: string, status: number][] = [
      [member, 'sales', 202],
      [member, 'common', 202],
      [member, 'legal', 403],
      [stranger, 'common', 202],
      [stranger, 'sales', 403],
      [admin, 'legal', 202],
      [ofUser, 'sales', 202],
      [ofUser, 'legal', 403],
      [key, 'legal', 202],
    ];
    for (const [credential, scope, status] of cases) {
      const reply = await upload('open', { metadata: { scope } }, credential);
      expect([scope, reply.status]).toEqual([scope, status]);
      if (status === 202) expect(reply).toMatchObject({ scope });
      else expect(reply).toMatchObject({ detail: expect.stringContaining(`"${scope}" is not your department`) });
    }
  });
});
