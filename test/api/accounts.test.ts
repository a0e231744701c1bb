import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser, findUser, suspendUser, unsuspendUser } from '../../src/access/users.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { sessionOf, type TestSession } from '../support/sessions.ts';
import { SoftwarePasskey } from '../support/software-passkey.ts';
import { until } from '../support/until.ts';

const MANAGER = { scopes: SCOPES.filter((scope) => scope !== 'platform_admin'), authLevel: 9 };
const PASSWORD = 'correct horse battery';

let test: TestApi;
/** Address of the server with a host name, which passkeys need. */
let origin: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  origin = `http://localhost:${new URL(test.api.url).port}`;
});
afterAll(() => test.close());

const post = (path: string, json: object, headers: Record<string, string> = {}) =>
  test.call('POST', path, { json, headers });
const email = () => `${randomBytes(6).toString('hex')}@example.com`;

async function invite(
  org?: string,
  address = email(),
): Promise<{ key: string; id: string; address: string; token: string }> {
  const key = await test.key({ ...MANAGER, ...(org ? { org } : {}) });
  const { body } = await test.call('POST', '/v1/users', { key, json: { email: address } });
  const link = await test.call('POST', `/v1/users/${body.id}/invitation`, { key });
  expect(link.status).toBe(201);
  return { key, id: body.id, address, token: new URL(link.body.url).hash.replace('#invitation=', '') };
}

const accept = async (token: string, password = PASSWORD) =>
  sessionOf(await post('/v1/sessions/invitation', { invitation: token, password }));
const signIn = async (address: string, password = PASSWORD) =>
  sessionOf(await post('/v1/sessions', { email: address, password }));
const account = (session: TestSession) => test.call('GET', '/v1/me/account', { headers: session.headers });
const hasEnded = (session: TestSession) =>
  until(async () => (await account(session)).status === 401, { what: 'the end of the session', withinMs: 60_000 });

describe('an invitation', () => {
  it('tells what it is for, and becomes an account whose sessions last 30 days without use', async () => {
    const { token, address, key, id } = await invite();
    const view = await post('/v1/sessions/invitation/view', { invitation: token });
    expect(view.body).toMatchObject({ organization: 'default', email: address });
    const session = await accept(token);
    expect(session.answer.status).toBe(201);
    expect(session.answer.body).toMatchObject({
      idle_timeout_seconds: 30 * 86_400,
      me: { user: { id, email: address } },
    });
    expect((await account(session)).body).toMatchObject({
      email: address,
      passkeys: [],
      organizations: [{ name: 'default' }],
    });
    expect((await test.call('GET', '/v1/sessions/methods')).body.methods).toContain('password');
    const again = await post('/v1/sessions/invitation', { invitation: token, password: PASSWORD });
    expect([again.status, again.body.detail]).toEqual([
      401,
      'the invitation is no longer valid; ask an administrator of your organization for another one',
    ]);
    const second = await test.call('POST', `/v1/users/${id}/invitation`, { key });
    expect([second.status, second.body.detail]).toEqual([409, 'this user already has a password; reset it instead']);
    const stored = await test.appliance.sql`SELECT password_hash FROM accounts WHERE email = ${address}`;
    expect(stored[0]?.['password_hash']).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it.each([
    ['short', 'choose at least 10 characters'],
    ['aaaaaaaaaaaaaa', 'choose more different characters'],
    ['OWNEMAIL', 'choose one without your email address'],
  ])('refuses the password %s and stays valid', async (given, fault) => {
    const { token, address } = await invite();
    const password = given === 'OWNEMAIL' ? address.toUpperCase() : given;
    const refused = await post('/v1/sessions/invitation', { invitation: token, password });
    expect([refused.status, refused.body.detail]).toEqual([400, `password: ${fault}`]);
    expect((await accept(token)).answer.status).toBe(201);
  });

  it('is used by one of two people at a time', async () => {
    const { token, address } = await invite();
    const both = await Promise.all([accept(token), accept(token)]);
    expect(both.map(({ answer }) => answer.status).toSorted()).toEqual([201, 401]);
    expect(await test.appliance.sql`SELECT 1 FROM accounts WHERE email = ${address}`).toHaveLength(1);
  });

  it('adds an organization to an account that is signed in, and people switch between them', async () => {
    const first = await invite();
    const session = await accept(first.token);
    const second = await invite('second', first.address);
    const join = (headers: Record<string, string>) =>
      post('/v1/me/account/invitation', { invitation: second.token }, headers);
    expect((await join({ Cookie: session.cookie })).status).toBe(403);
    const joined = sessionOf(await join(session.headers));
    expect(joined.answer.body.me).toMatchObject({ org: { name: 'second' }, user: { id: second.id } });
    expect((await account(joined)).body.organizations.map((each: { name: string }) => each.name)).toEqual([
      'default',
      'second',
    ]);
    const back = sessionOf(await post('/v1/me/account/organization', { organization: 'default' }, joined.headers));
    expect(back.answer.body.me).toMatchObject({ org: { name: 'default' }, user: { id: first.id } });
    // The next sign-in continues where the person was.
    expect((await signIn(first.address)).answer.body.me.org.name).toBe('default');
    const foreign = await post('/v1/me/account/organization', { organization: 'attackers' }, back.headers);
    expect([foreign.status, foreign.body.detail]).toEqual([404, 'organization not found: attackers']);
    const twice = await invite('second');
    const again = await post('/v1/me/account/invitation', { invitation: twice.token }, back.headers);
    expect([again.status, again.body.detail]).toEqual([409, 'your account already belongs to this organization']);
  });

  it('cannot take the address of a person of another organization', async () => {
    const victim = await invite();
    await accept(victim.token);
    const attacker = await invite('attackers', victim.address);
    const taken = await accept(attacker.token, 'password of the attacker');
    expect(taken.answer.body.me.org.name).toBe('attackers');
    expect((await signIn(victim.address)).answer.body.me.user.id).toBe(victim.id);
    expect((await signIn(victim.address, 'password of the attacker')).answer.body.me.user.id).toBe(attacker.id);
    expect((await account(taken)).body.organizations.map((each: { name: string }) => each.name)).toEqual(['attackers']);
  });
});

describe('a password', () => {
  it('signs in, in any case of the address and any Unicode form; unknown and wrong are refused alike', async () => {
    const { token, address } = await invite();
    await accept(token, 'café au lait chaud');
    expect((await signIn(` ${address.toUpperCase()} `, 'cafe\u0301 au lait chaud')).answer.status).toBe(201);
    const [wrong, unknown] = [await signIn(address, 'cafe au lait chaud'), await signIn(email(), 'cafe au lait')];
    expect([wrong.answer.status, unknown.answer.status]).toEqual([401, 401]);
    expect(wrong.answer.body.detail).toBe(unknown.answer.body.detail);
  });

  it('does not sign in a suspended user, whose session ends', async () => {
    const { sql } = test.appliance;
    const { token, address } = await invite();
    const session = await accept(token);
    await suspendUser(sql, test.operator, address);
    await hasEnded(session);
    expect((await signIn(address)).answer.status).toBe(401);
    await unsuspendUser(sql, test.operator, address);
    expect((await signIn(address)).answer.status).toBe(201);
  });

  it('is changed with the current one; every other session ends', async () => {
    const { token, address } = await invite();
    const [own, other] = [await accept(token), await signIn(address)];
    const change = (current_password: string, headers = own.headers) =>
      test.call('PUT', '/v1/me/account/password', {
        headers,
        json: { current_password, new_password: 'a new long password' },
      });
    const refused = await change('not the password');
    expect([refused.status, refused.body.detail]).toEqual([400, 'the current password is not right']);
    const changed = sessionOf(await change(PASSWORD));
    expect(changed.answer.status).toBe(201);
    await hasEnded(own);
    await hasEnded(other);
    expect((await account(changed)).status).toBe(200);
    expect((await signIn(address)).answer.status).toBe(401);
    expect((await signIn(address, 'a new long password')).answer.status).toBe(201);
  });

  it('is reset by a link of an administrator, once', async () => {
    const { token, address, key, id } = await invite();
    const session = await accept(token);
    const { body } = await test.call('POST', `/v1/users/${id}/password-reset`, { key });
    const reset = new URL(body.url).hash.replace('#reset=', '');
    expect((await account(session)).status).toBe(200);
    const weak = await post('/v1/sessions/password-reset', { reset, password: 'short' });
    expect(weak.body.detail).toBe('password: choose at least 10 characters');
    const after = sessionOf(await post('/v1/sessions/password-reset', { reset, password: 'a new long password' }));
    expect(after.answer.status).toBe(201);
    await hasEnded(session);
    expect((await signIn(address)).answer.status).toBe(401);
    const again = await post('/v1/sessions/password-reset', { reset, password: 'a new long password' });
    expect([again.status, again.body.detail]).toEqual([
      401,
      'the link is no longer valid; ask an administrator of your organization for another one',
    ]);
  });

  it('of a person of two organizations is reset by the operator only', async () => {
    const first = await invite();
    const session = await accept(first.token);
    const second = await invite('second', first.address);
    await post('/v1/me/account/invitation', { invitation: second.token }, session.headers);
    const refused = await test.call('POST', `/v1/users/${first.id}/password-reset`, { key: first.key });
    expect([refused.status, refused.body.detail]).toEqual([
      409,
      'this person also belongs to another organization; only the operator can reset the password',
    ]);
    const operator = await test.key({ scopes: [...SCOPES], authLevel: 10 });
    expect((await test.call('POST', `/v1/users/${first.id}/password-reset`, { key: operator })).status).toBe(201);
  });
});

describe('a passkey', () => {
  const at = (path: string, init: { json?: object; headers?: Record<string, string> } = {}) =>
    test.call('POST', path, init);
  const cookie = (answer: Answer, name: string) =>
    answer.headers
      .getSetCookie()
      .find((each) => each.startsWith(`${name}=`))
      ?.split(';')[0] ?? '';

  async function person() {
    const { token, address, id, key } = await invite();
    const session = await accept(token);
    const passkey = new SoftwarePasskey(origin);
    return { address, id, key, session, passkey };
  }
  async function add({ session, passkey }: Awaited<ReturnType<typeof person>>, lies = {}) {
    const asked = await at('/v1/me/account/passkeys/options', { headers: session.headers });
    const headers = { ...session.headers, Cookie: `${session.cookie}; ${cookie(asked, 'new_passkey')}` };
    return at('/v1/me/account/passkeys', {
      headers,
      json: { name: 'phone', response: passkey.create(asked.body, lies) },
    });
  }
  async function signInWith(passkey: SoftwarePasskey, lies = {}) {
    const asked = await at('/v1/sessions/passkey/options');
    const headers = { Cookie: cookie(asked, 'passkey') };
    const json = { response: passkey.get(asked.body, lies) };
    return {
      answer: await at('/v1/sessions/passkey', { headers, json }),
      again: () => at('/v1/sessions/passkey', { headers, json }),
    };
  }

  it('is added, signs in, and is deleted', async () => {
    const own = await person();
    expect((await add(own)).status).toBe(204);
    const { answer, again } = await signInWith(own.passkey);
    expect([answer.status, answer.body.me.user.id]).toEqual([201, own.id]);
    expect((await again()).status).toBe(401);
    const methods = await test.call('GET', '/v1/sessions/methods');
    expect(methods.body.methods).toContain('passkey');
    const { body } = await account(own.session);
    expect(body.passkeys).toMatchObject([{ name: 'phone', last_used_at: expect.any(String) }]);
    const path = `/v1/me/account/passkeys/${body.passkeys[0].id}`;
    expect((await test.call('DELETE', path, { headers: own.session.headers })).status).toBe(204);
    expect((await signInWith(own.passkey)).answer.status).toBe(401);
  });

  it.each([
    ['another site', { origin: 'http://localhost:1' }],
    ['another challenge', { challenge: 'AAAA' }],
    ['a person whom the device did not verify', { isVerified: false }],
  ])('is refused for %s', async (_name, lies) => {
    const own = await person();
    const refused = await add(own, lies);
    expect([refused.status, refused.body.detail]).toEqual([400, 'the passkey was not accepted; try again']);
    await add(own);
    expect((await signInWith(own.passkey, lies)).answer.status).toBe(401);
    expect((await signInWith(own.passkey)).answer.status).toBe(201);
  });

  it('that is unknown, or whose key is another, does not sign in', async () => {
    const own = await person();
    await add(own);
    expect((await signInWith(new SoftwarePasskey(origin))).answer.status).toBe(401);
    const forged = new SoftwarePasskey(origin);
    Object.defineProperty(forged, 'id', { value: own.passkey.id });
    expect((await signInWith(forged)).answer.status).toBe(401);
  });

  it('goes when the password is reset', async () => {
    const own = await person();
    await add(own);
    const { body } = await test.call('POST', `/v1/users/${own.id}/password-reset`, { key: own.key });
    const reset = new URL(body.url).hash.replace('#reset=', '');
    await post('/v1/sessions/password-reset', { reset, password: 'a new long password' });
    expect((await signInWith(own.passkey)).answer.status).toBe(401);
  });

  it.each(['http://192.0.2.7:7700', 'https://192.0.2.7', 'https://[2001:db8::1]', 'http://service.example.com', null])(
    'is not offered at %s',
    async (address) => {
      const { passkeys } = test.appliance.access;
      expect(await passkeys.canSignIn(address)).toBe(false);
      await expect(passkeys.askToSignIn(address)).rejects.toMatchObject({ code: 'passkeys_unavailable', status: 409 });
    },
  );
});

it('an account is managed by its own session only, not by a key or a token', async () => {
  const { token, id } = await invite();
  await accept(token);
  const key = await test.key(MANAGER);
  const refused = [403, 'sign in to the console with your password or passkey first'];
  const answered = ({ status, body }: Answer) => [status, body.detail];
  expect(answered(await test.call('GET', '/v1/me/account', { key }))).toEqual(refused);
  expect(answered(await account(sessionOf(await post('/v1/sessions', { credential: key }))))).toEqual(refused);
  const other = await createUser(test.appliance.sql, test.operator, { email: email() });
  expect(other.id).not.toBe(id);
  const none = await test.call('POST', `/v1/users/${other.id}/password-reset`, { key });
  expect([none.status, none.body.detail]).toEqual([409, 'this user has no password yet; invite the user instead']);
});

it('an administrator who makes a token of a person does not get into another organization of the person', async () => {
  const { sql, keyRing } = test.appliance;
  const first = await invite();
  const session = await accept(first.token);
  const second = await invite('second', first.address);
  await post('/v1/me/account/invitation', { invitation: second.token }, session.headers);
  const user = await findUser(sql, test.operator, first.id);
  const { token } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
  const byToken = sessionOf(await post('/v1/sessions', { credential: token.reveal() }));
  expect(byToken.answer.body).toMatchObject({ idle_timeout_seconds: 3600, me: { user: { id: first.id } } });
  for (const path of ['organization', 'passkeys/options', 'invitation']) {
    const json = { organization: 'second', invitation: 'x' };
    expect([path, (await post(`/v1/me/account/${path}`, json, byToken.headers)).status]).toEqual([path, 403]);
  }
  expect((await account(byToken)).status).toBe(403);
});

it('a link for a new password ends when the person joins another organization, and is refused while suspended there', async () => {
  const { sql } = test.appliance;
  const first = await invite();
  const session = await accept(first.token);
  const { body } = await test.call('POST', `/v1/users/${first.id}/password-reset`, { key: first.key });
  const reset = new URL(body.url).hash.replace('#reset=', '');
  const second = await invite('second', first.address);
  await post('/v1/me/account/invitation', { invitation: second.token }, session.headers);
  const used = await post('/v1/sessions/password-reset', { reset, password: 'password of the administrator' });
  expect(used.status).toBe(401);
  await suspendUser(sql, await test.appliance.access.operator('second'), first.address);
  const again = await test.call('POST', `/v1/users/${first.id}/password-reset`, { key: first.key });
  expect(again.status).toBe(409);
  expect((await signIn(first.address)).answer.status).toBe(201);
});

it('an account without users is removed', async () => {
  const { token, id, address } = await invite();
  await accept(token);
  const { sql, access } = test.appliance;
  await access.accounts.sweep();
  expect(await sql`SELECT 1 FROM accounts WHERE email = ${address}`).toHaveLength(1);
  await sql`DELETE FROM users WHERE id = ${id}`;
  await access.accounts.sweep();
  expect(await sql`SELECT 1 FROM accounts WHERE email = ${address}`).toEqual([]);
});
