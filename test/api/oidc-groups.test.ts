import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { createUser } from '../../src/access/users.ts';
import { type FakeIssuer, startFakeIssuer } from '../access/fake-issuer.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

// Groups that tokens of the identity provider name.

let issuer: FakeIssuer;
let test: TestApi;
let owner: string;
beforeAll(async () => {
  issuer = await startFakeIssuer();
  const oidc = {
    ...{ issuer: issuer.url, audience: issuer.audience, client_id: 'console', client_secret: 'its-secret' },
    groups_claim: 'groups',
    ...{ email_domains: { 'corp.example': 'default', 'gone.example': 'gone' }, provision: true },
  };
  test = await openTestApi({ worker: false, settings: { oidc } });
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  const known = { issuer: issuer.url, subject: 'ada' };
  await createUser(test.appliance.sql, test.operator, { email: 'ada@corp.example', oidc: known });
  for (const json of [{ name: 'legal' }, { name: 'board', claim: '6f1c0e3a' }, { name: 'by-hand' }]) {
    expect((await test.call('POST', '/v1/groups', { key: owner, json })).status).toBe(201);
  }
});
afterAll(async () => {
  await test.close();
  await issuer.close();
});

const nowS = () => Math.floor(Date.now() / 1000);
const tokenOf = (groups: unknown, iat: number, sub = 'ada') =>
  issuer.sign({
    sub,
    aud: issuer.audience,
    iss: issuer.url,
    iat,
    exp: nowS() + 600,
    ...(groups === undefined ? {} : { groups }),
  });
const me = async (key: string) => {
  const { status, body } = await test.call('GET', '/v1/me', { key });
  return status === 200 ? body.groups : [status, body.detail];
};

describe('the groups of a token', () => {
  it('are those of the organization that it names, by name or claim, until a newer token names others', async () => {
    await test.call('PATCH', '/v1/groups/by-hand', { key: owner, json: { add: ['ada@corp.example'] } });
    const first = await tokenOf(['legal', '6f1c0e3a', 'unknown'], nowS() - 20);
    expect(await me(first)).toEqual(['board', 'by-hand', 'legal']);
    const { members } = (await test.call('GET', '/v1/groups/legal', { key: owner })).body;
    expect(members).toEqual([expect.objectContaining({ email: 'ada@corp.example', from_claim: true })]);
    const second = await tokenOf(['6f1c0e3a'], nowS() - 10);
    expect(await me(second)).toEqual(['board', 'by-hand']);
    // A token that is still valid, but older, changes nothing.
    expect(await me(await tokenOf(['legal'], nowS() - 15))).toEqual(['board', 'by-hand']);
    expect(await me(await tokenOf(undefined, nowS() - 5))).toEqual(['by-hand']);
  });

  it('may not change while the organization moves, but a newer token with the same groups works', async () => {
    const { sql } = test.appliance;
    const before = nowS() - 4;
    expect(await me(await tokenOf(['legal'], before))).toEqual(['by-hand', 'legal']);
    await sql`UPDATE organizations SET move_state = 'moving' WHERE name = 'default'`;
    expect(await me(await tokenOf(['legal'], before + 1))).toEqual(['by-hand', 'legal']);
    for (const groups of [[], ['legal', '6f1c0e3a']]) {
      expect(await me(await tokenOf(groups, before + 2))).toEqual([503, expect.stringContaining('is being moved')]);
    }
    await sql`UPDATE organizations SET move_state = NULL WHERE name = 'default'`;
    expect(await me(await tokenOf(['6f1c0e3a'], before + 2))).toEqual(['board', 'by-hand']);
  });

  it.each([
    ['a text', 'legal', 'is not a list of texts'],
    ['a number', 7, 'is not a list of texts'],
    ['a list of objects', [{ id: 'legal' }], 'is not a list of texts'],
    ['of 1,200 groups', Array.from({ length: 1_200 }, (_, n) => `g${n}`), 'only the groups of this application'],
  ])('are refused if the claim is %s', async (_, groups, detail) => {
    expect(await me(await tokenOf(groups, nowS()))).toEqual([401, expect.stringContaining(detail)]);
  });
});

it('a token of 10,000 groups is refused before it is read', async () => {
  const groups = Array.from({ length: 10_000 }, (_, n) => `g${n}`);
  expect(await me(await tokenOf(groups, nowS()))).toEqual([431, expect.stringContaining('too large')]);
});

describe('the first sign-in of a person', () => {
  async function signIn(subject: string, claims: object): Promise<string> {
    const begun = await fetch(`${test.api.url}/v1/sessions/oidc`, { redirect: 'manual' });
    const kept = begun.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const back = issuer.signIn(begun.headers.get('location') ?? '', subject, { aud: 'console', ...claims });
    const ended = await fetch(new URL(back, test.api.url), { redirect: 'manual', headers: { cookie: kept } });
    const session = ended.headers.getSetCookie().find((cookie) => cookie.startsWith('session='));
    if (session === undefined) return ended.headers.get('location') ?? '';
    const headers = { Cookie: session.split(';')[0] as string };
    const { body } = await test.call('GET', '/v1/sessions/current', { headers });
    return JSON.stringify([body.me.user.email, body.me.user.role, body.me.auth_level, body.me.groups]);
  }

  it('is refused for an ID token of too many groups', async () => {
    const groups = Array.from({ length: 1_001 }, (_, n) => `g${n}`);
    const claims = { email: 'many@corp.example', email_verified: true, groups };
    expect(await signIn('many', claims)).toContain('refused');
  });

  it('makes a member of the organization of the domain, with the groups of the token', async () => {
    const email = { email: 'new@corp.example', email_verified: true };
    const found = '["new@corp.example","member",3,["legal"]]';
    expect(await signIn('new', { ...email, groups: ['legal'], iat: nowS() - 5 })).toBe(found);
    expect(await signIn('new', { ...email, groups: ['legal'], iat: nowS() })).toBe(found);
    const { body } = await test.call('GET', '/v1/users', { key: owner });
    expect(body.data.filter((user: { email: string }) => user.email === 'new@corp.example')).toHaveLength(1);
  });

  it.each([
    ['an address that is not confirmed', { email: 'x@corp.example', email_verified: false }],
    ['a domain of nobody', { email: 'x@elsewhere.example', email_verified: true }],
    ['an organization that does not exist', { email: 'x@gone.example', email_verified: true }],
    ['an address of another identity', { email: 'ada@corp.example', email_verified: true }],
  ])('makes nobody for %s', async (_, claims) => {
    const before = (await test.appliance.sql`SELECT 1 FROM users`).length;
    expect(await signIn('stranger', claims)).toContain('unknown_user');
    expect((await test.appliance.sql`SELECT 1 FROM users`).length).toBe(before);
  });
});
