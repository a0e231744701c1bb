import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

// Groups of people, and documents that only some users and groups may read.

let test: TestApi;
let owner: string;
const tokens: Record<string, string> = {};

beforeAll(async () => {
  test = await openTestApi();
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  const { sql, keyRing } = test.appliance;
  for (const name of ['ana', 'ben', 'cho']) {
    const user = await createUser(sql, test.operator, { email: `${name}@example.com`, role: 'member' });
    tokens[name] = (await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 })).token.reveal();
  }
});
afterAll(() => test.close());

const call = (method: string, path: string, json?: object, key = owner) =>
  test.call(method, path, { key, ...(json === undefined ? {} : { json }) });
const group = (name: string, json: object = {}) => call('POST', '/v1/groups', { name, ...json });
const find = async (name: string, bucket: string) => {
  const { body } = await call('POST', `/v2/buckets/${bucket}/search`, { query: 'harbour' }, tokens[name] ?? owner);
  return body.results.map(({ citation }: { citation: { file_name: string } }) => citation.file_name).toSorted();
};
/** The credentials of callers are kept for half a second. */
const settled = (name: string, bucket: string, files: string[]) =>
  until(async () => JSON.stringify(await find(name, bucket)) === JSON.stringify(files), { what: `files of ${name}` });

async function upload(bucket: string, filename: string, fields: object = {}) {
  const json = { filename, text: `The harbour of ${filename}.`, ...fields };
  const answer = await call('POST', `/v1/buckets/${bucket}/documents`, json);
  if (answer.status !== 202) return answer;
  const { job_id: job } = answer.body;
  await until(async () => (await call('GET', `/v1/jobs/${job}`)).body.status === 'ready', { what: 'ingest' });
  return answer;
}

describe('groups', () => {
  it('have users, keys without a user, and groups as members', async () => {
    const key = (await call('POST', '/v1/keys', { name: 'bot', scopes: ['search'] })).body;
    expect((await group('editors', { members: ['ana@example.com', `key:${key.id}`] })).status).toBe(201);
    expect(
      (await group('staff', { display_name: 'All of us', members: ['group:Editors', 'ben@example.com'] })).body,
    ).toEqual(expect.objectContaining({ name: 'staff', display_name: 'All of us', member_count: 2 }));
    const { body } = await call('GET', '/v1/me', undefined, tokens['ana']);
    expect(body.groups).toEqual(['editors', 'staff']);
    expect((await call('GET', '/v1/me', undefined, key.key)).body.groups).toEqual(['editors', 'staff']);
    expect((await call('GET', '/v1/me', undefined, tokens['ben'])).body.groups).toEqual(['staff']);
    const { data } = (await call('GET', '/v1/groups')).body;
    expect(data.map(({ name }: { name: string }) => name)).toEqual(['editors', 'staff']);
  });

  it.each([
    ['a name that exists in another case', { name: 'STAFF' }, 409, 'exists already'],
    ['a name with a comma', { name: 'a, b' }, 400, 'must have no comma'],
    ['an unknown user', { name: 'x', members: ['nobody@example.com'] }, 400, 'has no user "nobody@example.com"'],
    ['an unknown group', { name: 'x', members: ['group:nothing'] }, 400, 'has no group "nothing"'],
    ['an unknown key', { name: 'x', members: ['key:AAAAAAAA'] }, 400, 'has no key without a user "AAAAAAAA"'],
    ['too many members', { name: 'x', members: Array.from({ length: 1_001 }, (_, n) => `u${n}`) }, 400, 'members'],
    ['members of another type', { name: 'x', members: 'ana@example.com' }, 400, 'members'],
  ])('refuse %s, and nothing is made', async (_, json, status, detail) => {
    const before = (await call('GET', '/v1/groups')).body.data.length;
    const answer = await call('POST', '/v1/groups', json);
    expect([answer.status, answer.body.detail]).toEqual([status, expect.stringContaining(detail)]);
    expect((await call('GET', '/v1/groups')).body.data.length).toBe(before);
  });

  it('never contain themselves, also not through others', async () => {
    await group('inner');
    await group('middle', { members: ['group:inner'] });
    await group('outer', { members: ['group:middle'] });
    for (const member of ['group:outer', 'group:middle', 'group:inner']) {
      const { status, body } = await call('PATCH', '/v1/groups/inner', { add: [member] });
      expect([status, body.detail]).toEqual([400, expect.stringContaining('cannot be a member of')]);
    }
  });

  it('are changed by those with the scope alone, and belong to one organization', async () => {
    const keys = await test.key({ scopes: ['search', 'users:manage', 'buckets:manage'] });
    expect((await call('POST', '/v1/groups', { name: 'mine' }, keys)).status).toBe(403);
    const other = await test.key({ scopes: ['groups:manage'], org: 'other' });
    expect((await call('GET', '/v1/groups/staff', undefined, other)).status).toBe(404);
    expect((await call('PATCH', '/v1/groups/staff', { add: [] }, other)).status).toBe(404);
    expect((await call('POST', '/v1/groups', { name: 'staff', members: ['ana@example.com'] }, other)).status).toBe(400);
  });
});

describe('credentials of a member', () => {
  const MANAGING = SCOPES.filter((scope) => scope !== 'platform_admin' && scope !== 'groups:manage');
  it('are made by administrators, and by those alone who have its groups', async () => {
    const bot = (await call('POST', '/v1/keys', { name: 'inside', scopes: ['search'] })).body;
    await group('inside', { members: [`key:${bot.id}`] });
    const dan = (await call('POST', '/v1/users', { email: 'dan@example.com' })).body;
    const manager = await test.key({ scopes: MANAGING, authLevel: 10 });
    const attempts = () => [
      call('POST', '/v1/keys', { name: 'taken', scopes: ['search'], user_id: dan.id }, manager),
      call('POST', `/v1/users/${dan.id}/invitation`, undefined, manager),
    ];
    for (const { status } of await Promise.all(attempts())) expect(status).toBe(201);
    await call('PATCH', '/v1/groups/inside', { add: ['dan@example.com'] });
    for (const { status } of await Promise.all(attempts())) expect(status).toBe(403);
    expect((await call('POST', `/v1/keys/${bot.id}/rotate`, {}, manager)).status).toBe(403);
    const rotated = await call('POST', `/v1/keys/${bot.id}/rotate`, {});
    expect((await call('GET', '/v1/me', undefined, rotated.body.key)).body.groups).toEqual(['inside']);
    await call('PATCH', '/v1/groups/inside', { remove: ['dan@example.com'] });
    await call('POST', '/v1/buckets', { name: 'of-dan' });
    await upload('of-dan', 'for-dan.txt', { access: { users: ['dan@example.com'] } });
    for (const { status } of await Promise.all(attempts())) expect(status).toBe(403);
  });
});

const LONG_NAMES = Array.from({ length: 6 }, (_, n) => `${n}${'법'.repeat(99)}`);

describe('the access of a document', () => {
  it('lets users and members of groups find it, from the next search after a change', async () => {
    await call('POST', '/v1/buckets', { name: 'first' });
    await group('legal', { members: ['ana@example.com'] });
    await upload('first', 'open.txt');
    const { body } = await upload('first', 'secret.txt', { access: { users: ['cho@example.com'], groups: ['Legal'] } });
    const path = `/v1/buckets/first/documents/${body.id}`;
    expect((await call('GET', path)).body.access).toEqual({
      users: [expect.stringMatching(/^usr_/)],
      groups: ['legal'],
    });
    await settled('ana', 'first', ['open.txt', 'secret.txt']);
    expect(await find('cho', 'first')).toEqual(['open.txt', 'secret.txt']);
    expect(await find('ben', 'first')).toEqual(['open.txt']);
    expect((await call('GET', path, undefined, tokens['ben'])).status).toBe(404);
    await call('PATCH', '/v1/groups/legal', { add: ['ben@example.com'], remove: ['ana@example.com'] });
    await settled('ben', 'first', ['open.txt', 'secret.txt']);
    await settled('ana', 'first', ['open.txt']);
    await call('PATCH', `${path}/metadata`, { access: { users: ['ana@example.com'] }, reindex: false });
    expect(await find('ana', 'first')).toEqual(['open.txt', 'secret.txt']);
    expect(await find('cho', 'first')).toEqual(['open.txt']);
    await call('PATCH', `${path}/metadata`, { access: null, reindex: false });
    expect(await find('cho', 'first')).toEqual(['open.txt', 'secret.txt']);
  });

  it('is set and matched by statements', async () => {
    await call('POST', '/v1/buckets', { name: 'stated' });
    await group('board', { members: ['cho@example.com'] });
    await upload('stated', 'a.txt', { metadata: { kind: 'minutes' } });
    await upload('stated', 'b.txt');
    const run = async (statement: string) =>
      (await call('PATCH', '/v1/buckets/stated/documents/metadata/bulk', { statement, reindex: false })).body;
    const { updated, items } = await run(`UPDATE documents SET access_groups = 'staff, BOARD' WHERE kind = 'minutes'`);
    expect([updated, items[0].before, items[0].after]).toEqual([
      1,
      { access_groups: null },
      { access_groups: 'board, staff' },
    ]);
    await settled('ana', 'stated', ['a.txt', 'b.txt']);
    expect((await run(`SELECT documents WHERE access_groups LIKE '%board%'`)).matched).toBe(1);
    expect((await run(`SELECT documents WHERE access_groups IS NULL`)).matched).toBe(1);
    await run(`UPDATE documents SET access_groups = 'board' WHERE access_groups = 'board, staff'`);
    expect(await find('ana', 'stated')).toEqual(['b.txt']);
    expect((await run(`UPDATE documents SET access_groups = 'nobody' WHERE kind = 'minutes'`)).detail).toContain(
      'has no group "nobody"',
    );
    const emptied = await run(`UPDATE documents SET access_groups = '' WHERE kind = 'minutes'`);
    expect([emptied.updated, emptied.items[0].warnings]).toEqual([
      0,
      expect.arrayContaining([expect.stringContaining('names nobody')]),
    ]);
    await run(`UPDATE documents SET access_groups = NULL WHERE kind = 'minutes'`);
    expect(await find('ben', 'stated')).toEqual(['a.txt', 'b.txt']);
  });

  it('comes from the bucket for documents without one', async () => {
    await call('POST', '/v1/buckets', { name: 'closed' });
    const policy = { default_access: { groups: ['board'] } };
    const { body } = await call('PATCH', '/v1/buckets/closed', { policy });
    expect(body.policy.default_access).toEqual({ users: [], groups: ['board'] });
    await upload('closed', 'of-the-bucket.txt');
    await upload('closed', 'for-ana.txt', { access: { users: ['ana@example.com'] } });
    await upload('closed', 'open.txt', { access: null });
    expect(await find('ana', 'closed')).toEqual(['for-ana.txt', 'open.txt']);
    await settled('cho', 'closed', ['of-the-bucket.txt', 'open.txt']);
    await call('PATCH', '/v1/buckets/closed', { policy: { default_access: null } });
    await upload('closed', 'later.txt');
    expect(await find('ben', 'closed')).toEqual(['later.txt', 'open.txt']);
  });

  it.each([
    ['a list of nobody', { users: [], groups: [] }, 'names nobody'],
    ['an unknown group', { groups: ['none'] }, 'has no group "none"'],
    ['an unknown user', { users: ['usr_none'] }, 'has no user "usr_none"'],
    ['names that are too long together', { groups: LONG_NAMES }, 'names too many users and groups'],
    ['more than 50 entries', { users: Array.from({ length: 51 }, (_, n) => `u${n}`) }, 'access.users'],
    ['a text', 'legal', 'access'],
  ])('of an upload is refused for %s', async (_, access, detail) => {
    for (const name of LONG_NAMES) await group(name);
    const { status, body } = await upload('first', 'refused.txt', { access });
    expect([status, body.detail]).toEqual([400, expect.stringContaining(detail)]);
  });

  it('is explained for a user or a key', async () => {
    await call('POST', '/v1/buckets', { name: 'explained' });
    const { body } = await upload('explained', 'x.txt', { access: { groups: ['board'] }, privacy_level: 6 });
    const path = `/v1/buckets/explained/documents/${body.id}/access`;
    const explained = (await call('GET', `${path}?as=ana@example.com`)).body;
    expect(explained).toMatchObject({ readable: false, reader: { email: 'ana@example.com', auth_level: 3 } });
    expect(explained.reasons).toEqual([
      'the privacy level of the document is 6, and the auth level of the reader is 3',
      'the access of the document names neither the reader nor a group of the reader',
    ]);
    expect((await call('GET', path)).body).toMatchObject({ readable: true, reasons: [] });
    expect((await call('GET', path, undefined, tokens['ana'])).status).toBe(404);
    expect((await call('GET', `${path}?as=nobody@example.com`)).status).toBe(404);
    const reader = await test.key({ scopes: ['search'], authLevel: 10 });
    expect((await call('GET', `${path}?as=ana@example.com`, undefined, reader)).status).toBe(403);
  });
});
