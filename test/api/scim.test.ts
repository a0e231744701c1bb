import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

// Requests as Microsoft Entra ID documents them (learn.microsoft.com, "Develop a SCIM endpoint": user and group
// operations, March 2025) and as Okta documents them (developer.okta.com, "SCIM 2.0 Protocol Reference").

const PATCH_OP = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
/** The scopes of a member too, since a key adds nobody with more rights than it has. */
const SCIM_SCOPES = ['users:manage', 'groups:manage', 'embed', 'search', 'documents:write'] as const;

let test: TestApi;
let key: string;
let owner: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  key = await test.key({ scopes: [...SCIM_SCOPES], authLevel: 5 });
});
afterAll(() => test.close());

const headers = { 'Content-Type': 'application/scim+json; charset=utf-8' };
async function scim(method: string, path: string, json?: object) {
  const body = json === undefined ? {} : { body: JSON.stringify(json), headers };
  const { status, body: text } = await test.call(method, `/scim/v2${path}`, { key, ...body });
  return { status, body: typeof text === 'string' && text !== '' ? JSON.parse(text) : text };
}
const patch = (path: string, ...operations: object[]) =>
  scim('PATCH', path, { schemas: PATCH_OP, Operations: operations });

/** User as Entra provisions one. */
const entraUser = (name: string) => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:User', 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
  externalId: `ext-${name}`,
  userName: `${name}@contoso.example`,
  active: true,
  emails: [{ primary: true, type: 'work', value: `${name}@contoso.example` }],
  meta: { resourceType: 'User' },
  name: { formatted: 'givenName familyName', familyName: 'familyName', givenName: 'givenName' },
  roles: [],
});
const addUser = async (name: string) => (await scim('POST', '/Users', entraUser(name))).body.id as string;

describe('users of a directory', () => {
  it('Entra: add, get, find, change, disable, enable, delete, add again', async () => {
    const added = await scim('POST', '/Users', entraUser('test_user_1'));
    expect([added.status, added.body]).toEqual([
      201,
      expect.objectContaining({ userName: 'test_user_1@contoso.example', externalId: 'ext-test_user_1', active: true }),
    ]);
    const path = `/Users/${added.body.id}`;
    expect((await scim('POST', '/Users', entraUser('test_user_1'))).body).toMatchObject({
      status: '409',
      scimType: 'uniqueness',
    });
    expect((await scim('GET', path)).body).toEqual(added.body);
    const find = (filter: string) => scim('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    expect((await find('userName eq "Test_User_1@contoso.example"')).body).toMatchObject({
      totalResults: 1,
      startIndex: 1,
    });
    expect((await find('externalId eq "ext-test_user_1"')).body.Resources[0].id).toBe(added.body.id);
    expect((await find('userName eq "non-existent user"')).body).toMatchObject({ totalResults: 0, Resources: [] });
    const changed = await patch(
      path,
      { op: 'Replace', path: 'emails[type eq "work"].value', value: 'updatedEmail@microsoft.com' },
      { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
      { op: 'Replace', path: 'userName', value: 'renamed@contoso.example' },
    );
    expect([changed.status, changed.body.userName]).toEqual([200, 'renamed@contoso.example']);
    expect((await patch(path, { op: 'Replace', path: 'active', value: 'False' })).body.active).toBe(false);
    expect((await call('GET', '/v1/users/renamed@contoso.example')).body.suspended_at).not.toBe(null);
    expect((await patch(path, { op: 'replace', value: { active: true } })).body.active).toBe(true);
    expect((await scim('DELETE', path)).status).toBe(204);
    expect((await scim('GET', path)).status).toBe(404);
    expect((await scim('DELETE', path)).status).toBe(404);
    expect((await find('externalId eq "ext-test_user_1"')).body.totalResults).toBe(0);
    const again = await scim('POST', '/Users', { ...entraUser('x'), userName: 'renamed@contoso.example' });
    expect([again.status, again.body.id, again.body.active]).toEqual([201, added.body.id, true]);
  });

  it('Okta: lists pages, replaces a user, and deactivates by PUT and PATCH', async () => {
    const id = await addUser('okta');
    const page = (await scim('GET', '/Users?startIndex=1&count=1')).body;
    expect([page.itemsPerPage, page.Resources.length, page.totalResults > 1]).toEqual([1, 1, true]);
    expect((await scim('GET', '/Users?startIndex=2&count=0')).body).toMatchObject({ startIndex: 2, Resources: [] });
    const put = await scim('PUT', `/Users/${id}`, { userName: 'okta@contoso.example', active: false, groups: [] });
    expect([put.status, put.body.active, put.body.externalId]).toEqual([200, false, undefined]);
    expect((await patch(`/Users/${id}`, { op: 'replace', value: { active: true } })).body.active).toBe(true);
    expect((await scim('GET', `/Users/${id}`)).body.meta.resourceType).toBe('User');
  });

  it.each([
    ['a user name that is no address', { userName: 'ana' }, 400, 'invalidValue'],
    ['no user name', { externalId: 'x' }, 400, undefined],
  ])('refuse %s', async (_, json, status, scimType) => {
    const answer = await scim('POST', '/Users', json);
    expect([answer.status, answer.body.status, answer.body.scimType]).toEqual([status, String(status), scimType]);
  });

  it('cannot rename somebody whom a document names, and who has not signed in yet', async () => {
    const id = await addUser('named');
    const rename = () => patch(`/Users/${id}`, { op: 'replace', path: 'userName', value: 'taken@contoso.example' });
    const json = { filename: 'x.txt', text: 'For one person.', access: { users: ['named@contoso.example'] } };
    expect((await call('POST', '/v1/buckets/default/documents', json)).status).toBe(202);
    expect((await rename()).status).toBe(403);
    expect((await patch(`/Users/${id}`, { op: 'replace', path: 'active', value: false })).status).toBe(200);
  });

  it('cannot change administrators, nor people of another organization', async () => {
    const admin = (
      await call('POST', '/v1/users', { email: 'boss@contoso.example', role: 'admin' }, await operatorToken())
    ).body;
    expect((await patch(`/Users/${admin.id}`, { op: 'replace', path: 'active', value: false })).status).toBe(403);
    const other = await test.key({ scopes: ['users:manage', 'groups:manage'], org: 'other' });
    const id = await addUser('ours');
    expect((await test.call('GET', `/scim/v2/Users/${id}`, { key: other })).status).toBe(404);
  });
});

const call = (method: string, path: string, json?: object, by = owner) =>
  test.call(method, path, { key: by, ...(json === undefined ? {} : { json }) });
async function operatorToken(): Promise<string> {
  const { makeUserToken } = await import('../support/tokens.ts');
  return makeUserToken(test.appliance, { role: 'owner' });
}

describe('groups of a directory', () => {
  it('Entra: add, find without members, add and remove members, rename, delete', async () => {
    const [ana, ben] = [await addUser('ana'), await addUser('ben')];
    const added = await scim('POST', '/Groups', {
      schemas: [
        'urn:ietf:params:scim:schemas:core:2.0:Group',
        'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group',
      ],
      externalId: '8aa1a0c0-c4c3-4bc0-b4a5-2ef676900159',
      displayName: '법무, 팀',
      meta: { resourceType: 'Group' },
    });
    expect([added.status, added.body.displayName, added.body.members]).toEqual([201, '법무, 팀', []]);
    const path = `/Groups/${added.body.id}`;
    expect((await scim('POST', '/Groups', { displayName: '법무, 팀' })).body).toMatchObject({
      status: '409',
      scimType: 'uniqueness',
    });
    const found = await scim(
      'GET',
      `/Groups?excludedAttributes=members&filter=${encodeURIComponent('displayName eq "법무, 팀"')}`,
    );
    expect([found.body.totalResults, found.body.Resources[0].members]).toEqual([1, undefined]);
    const values = [
      { $ref: null, value: ana },
      { $ref: null, value: ben },
    ];
    const both = await patch(path, { op: 'Add', path: 'members', value: values });
    expect(both.body.members.map(({ value }: { value: string }) => value).toSorted()).toEqual([ana, ben].toSorted());
    const isIn = `id eq "${added.body.id}" and members eq "${ben}"`;
    expect((await scim('GET', `/Groups?filter=${encodeURIComponent(isIn)}`)).body.totalResults).toBe(1);
    await patch(path, { op: 'Remove', path: 'members', value: [{ $ref: null, value: ben }] });
    expect((await scim('GET', `/Groups?filter=${encodeURIComponent(isIn)}`)).body.totalResults).toBe(0);
    await patch(path, { op: 'Remove', path: `members[value eq "${ana}"]` });
    expect((await scim('GET', path)).body.members).toEqual([]);
    expect((await patch(path, { op: 'Replace', path: 'displayName', value: 'Legal' })).body.displayName).toBe('Legal');
    // Documents hold the name, which stays.
    expect((await call('GET', `/v1/groups/${encodeURIComponent('법무  팀')}`)).body.display_name).toBe('Legal');
    expect((await scim('DELETE', path)).status).toBe(204);
    expect((await scim('GET', path)).status).toBe(404);
  });

  it('Okta: replaces members by PATCH and PUT, renames by an object with an id', async () => {
    const [one, two] = [await addUser('one'), await addUser('two')];
    const group = (
      await scim('POST', '/Groups', { displayName: 'Test SCIMv2', members: [{ value: one, display: 'x' }] })
    ).body;
    const path = `/Groups/${group.id}`;
    const members = (body: { members: { value: string }[] }) => body.members.map(({ value }) => value);
    expect(members(group)).toEqual([one]);
    expect(members((await patch(path, { op: 'replace', path: 'members', value: [{ value: two }] })).body)).toEqual([
      two,
    ]);
    const named = await patch(path, { op: 'replace', value: { id: group.id, displayName: 'Test SCIMv2b' } });
    expect([named.body.displayName, members(named.body)]).toEqual(['Test SCIMv2b', [two]]);
    const put = await scim('PUT', path, { displayName: 'Test SCIMv2', members: [{ value: one }, { value: two }] });
    expect(members(put.body).toSorted()).toEqual([one, two].toSorted());
    expect((await scim('GET', `/Users/${one}`)).body.groups).toEqual([{ value: group.id, display: 'Test SCIMv2' }]);
    const outer = (await scim('POST', '/Groups', { displayName: 'Outer', members: [{ value: group.id }] })).body;
    expect(outer.members).toEqual([{ value: group.id, display: 'Test SCIMv2', type: 'Group' }]);
    expect((await patch(path, { op: 'add', path: 'members', value: [{ value: outer.id }] })).status).toBe(400);
  });

  it.each([
    ['an unknown member', { op: 'add', path: 'members', value: [{ value: 'usr_none' }] }],
    ['a member without a value', { op: 'add', path: 'members', value: [{ display: 'x' }] }],
    ['a display name that is no text', { op: 'replace', path: 'displayName', value: 7 }],
    ['an operation that is none', { op: 'move', path: 'members' }],
  ])('refuse %s, and nothing of the request is done', async (_, operation) => {
    const user = await addUser(`u${Math.random().toString(36).slice(2)}`);
    const group = (await scim('POST', '/Groups', { displayName: `g-${user}` })).body;
    const first = { op: 'add', path: 'members', value: [{ value: user }] };
    expect((await patch(`/Groups/${group.id}`, first, operation)).status).toBe(400);
    expect((await scim('GET', `/Groups/${group.id}`)).body.members).toEqual([]);
  });

  it('filters that are not equalities are refused', async () => {
    for (const filter of ['userName co "a"', 'userName eq', 'userName eq "a" or id eq "b"', 'title eq "x"', '(']) {
      const { status, body } = await scim('GET', `/Users?filter=${encodeURIComponent(filter)}`);
      expect([filter, status, body.scimType]).toEqual([filter, 400, 'invalidFilter']);
    }
  });
});

it('ids that are none are not found', async () => {
  for (const id of ['AA', 'AGE', '_w', 'a'.repeat(500)]) {
    expect([id, (await scim('GET', `/Groups/${id}`)).status]).toEqual([id, 404]);
  }
});

it('the service describes itself', async () => {
  expect((await scim('GET', '/ServiceProviderConfig')).body).toMatchObject({ patch: { supported: true } });
  expect((await scim('GET', '/ResourceTypes')).body.totalResults).toBe(2);
  expect((await scim('GET', '/Schemas')).body.totalResults).toBe(2);
  expect((await scim('GET', '/Nothing')).body).toMatchObject({ status: '404' });
  const { status, body } = await test.call('GET', '/scim/v2/Users', {});
  expect([status, typeof body === 'string' ? JSON.parse(body).status : body.status]).toEqual([401, '401']);
});
