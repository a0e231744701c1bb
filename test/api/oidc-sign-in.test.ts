import type { JWTPayload } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { createUser, suspendUser } from '../../src/access/users.ts';
import { type FakeIssuer, startFakeIssuer } from '../access/fake-issuer.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

const MANAGER = { scopes: SCOPES.filter((scope) => scope !== 'platform_admin'), authLevel: 9 };

let issuer: FakeIssuer;
let test: TestApi;
beforeAll(async () => {
  issuer = await startFakeIssuer();
  const oidc = {
    issuer: issuer.url,
    audience: issuer.audience,
    client_id: 'console',
    client_secret: 'its-secret',
    email_domains: { 'corp.example': 'default' },
  };
  test = await openTestApi({ worker: false, settings: { oidc } });
  const { sql } = test.appliance;
  const known = { issuer: issuer.url };
  await createUser(sql, test.operator, { email: 'ada@example.com', role: 'admin', oidc: { ...known, subject: 'ada' } });
  await createUser(sql, test.operator, { email: 'eve@example.com', oidc: { ...known, subject: 'eve' } });
  await suspendUser(sql, test.operator, 'eve@example.com');
});
afterAll(async () => {
  await test.close();
  await issuer.close();
});

/** Answer of the server to a navigation of a browser, which does not follow it. */
async function navigate(address: string, cookie = ''): Promise<{ status: number; to: string; cookies: string[] }> {
  const answer = await fetch(new URL(address, test.api.url), { redirect: 'manual', headers: { Cookie: cookie } });
  await answer.body?.cancel();
  return { status: answer.status, to: answer.headers.get('location') ?? '', cookies: answer.headers.getSetCookie() };
}

const cookieOf = (cookies: string[], name: string) =>
  cookies.find((cookie) => cookie.startsWith(`${name}=`))?.split(';')[0] ?? '';

async function begin(query = '') {
  const { status, to, cookies } = await navigate(`/v1/sessions/oidc${query}`);
  return { status, to, cookies, kept: cookieOf(cookies, 'sign_in') };
}

it('a person who signs in at the issuer gets a session of the user that the operator made', async () => {
  expect((await test.call('GET', '/v1/sessions/methods')).body.methods).toEqual(['credential', 'link', 'oidc']);
  const { status, to, cookies, kept } = await begin();
  expect([status, to.startsWith(`${issuer.url}/authorize?`)]).toEqual([303, true]);
  const asked = new URL(to).searchParams;
  expect(Object.fromEntries(asked)).toMatchObject({
    response_type: 'code',
    client_id: 'console',
    scope: 'openid email',
    code_challenge_method: 'S256',
    redirect_uri: `${test.api.url}/v1/sessions/oidc/callback`,
  });
  expect(cookies[0]).toMatch(/; Path=\/v1\/sessions\/oidc; Max-Age=600; HttpOnly; SameSite=Lax$/);
  expect(decodeURIComponent(kept)).not.toContain(asked.get('state'));
  const back = await navigate(issuer.signIn(to, 'ada'), kept);
  expect([back.status, back.to]).toEqual([303, '/console']);
  expect(back.cookies[0]).toMatch(/; HttpOnly; SameSite=Strict$/);
  expect(cookieOf(back.cookies, 'sign_in')).toBe('sign_in=');
  const headers = { Cookie: cookieOf(back.cookies, 'session') };
  const { body } = await test.call('GET', '/v1/sessions/current', { headers });
  expect(body.me).toMatchObject({ kind: 'user', user: { email: 'ada@example.com', role: 'admin' } });
});

it.each([
  ['a person without a user', 'nobody', {}, 'unknown_user'],
  ['a suspended user', 'eve', {}, 'unknown_user'],
  ['an ID token of another client', 'ada', { aud: 'other' }, 'refused'],
  ['an ID token of another issuer', 'ada', { iss: 'https://other.example.com' }, 'refused'],
  ['an ID token of another sign-in', 'ada', { nonce: 'other' }, 'refused'],
  ['an ID token that has expired', 'ada', { exp: 1 }, 'refused'],
  ['an ID token of the future', 'ada', { iat: Math.floor(Date.now() / 1000) + 3_600 }, 'refused'],
  ['an ID token that another client asked for', 'ada', { azp: 'other' }, 'refused'],
  ['an ID token for several clients that names no party', 'ada', { aud: ['console', 'other'] }, 'refused'],
] satisfies [string, string, JWTPayload, string][])('%s is not signed in', async (_name, subject, claims, fault) => {
  const { to, kept } = await begin();
  const back = await navigate(issuer.signIn(to, subject, claims), kept);
  expect([back.status, back.to]).toEqual([303, `/console#sign-in-failed=${fault}`]);
  expect(cookieOf(back.cookies, 'session')).toBe('');
});

it('an answer of the issuer counts only in the browser that asked, and only once', async () => {
  const [own, other] = [await begin(), await begin()];
  const address = issuer.signIn(own.to, 'ada');
  expect((await navigate(address)).to).toBe('/console#sign-in-failed=expired');
  expect((await navigate(address, other.kept)).to).toBe('/console#sign-in-failed=expired');
  expect((await navigate(address, 'sign_in=forged')).to).toBe('/console#sign-in-failed=expired');
  expect((await navigate(address, own.kept)).to).toBe('/console');
  expect((await navigate(address, own.kept)).to).toBe('/console#sign-in-failed=expired');
  // A browser that keeps the sign-in, and gets another code for it, doesn't sign in again.
  expect((await navigate(issuer.signIn(own.to, 'ada'), own.kept)).to).toBe('/console#sign-in-failed=expired');
});

it('an issuer that refuses or does not answer leads to a message, and never to a session', async () => {
  const { to, kept } = await begin();
  const state = new URL(to).searchParams.get('state');
  const refused = await navigate(`/v1/sessions/oidc/callback?error=access_denied&state=${state}`, kept);
  expect(refused.to).toBe('/console#sign-in-failed=refused');
  const address = issuer.signIn(to, 'ada');
  issuer.mode = 'error';
  expect((await navigate(address, kept)).to).toBe('/console#sign-in-failed=unavailable');
  issuer.mode = 'up';
});

describe('an identity at the issuer', () => {
  const invite = async (email: string, org?: string) => {
    const key = await test.key({ ...MANAGER, ...(org ? { org } : {}) });
    const { body } = await test.call('POST', '/v1/users', { key, json: { email } });
    const link = await test.call('POST', `/v1/users/${body.id}/invitation`, { key });
    expect(link.status).toBe(201);
    return { key, id: body.id as string, token: new URL(link.body.url).hash.replace('#invitation=', '') };
  };
  /** Sign a person in who follows an invitation; returns the cookie of the acceptance. */
  const follow = async (token: string, subject: string) => {
    const { to, kept } = await begin(`?invitation=${token}`);
    const back = await navigate(issuer.signIn(to, subject), kept);
    return { to: back.to, session: cookieOf(back.cookies, 'session'), Cookie: cookieOf(back.cookies, 'invitation') };
  };
  const accept = (Cookie: string) =>
    test.call('POST', '/v1/sessions/oidc/invitation', { headers: { Cookie }, json: { accept: true } });

  it('cannot be claimed by a key of an organization, which does not learn whether it is known', async () => {
    const key = await test.key({ ...MANAGER, org: 'attackers' });
    const claim = (subject: string) => {
      const json = { email: `${subject}@attack.example`, oidc: { issuer: issuer.url, subject } };
      return test.call('POST', '/v1/users', { key, json });
    };
    const [known, unknown] = [await claim('ada'), await claim('nobody')];
    expect([known.status, unknown.status]).toEqual([403, 403]);
    expect(known.body.detail).toBe(unknown.body.detail);
    expect(known.body.detail).toContain('invite the user');
  });

  it('is connected when the person accepts the invitation, and not before', async () => {
    const { id, token } = await invite('bea@example.com', 'acme');
    const { to, session, Cookie } = await follow(token, 'bea');
    expect([to, session]).toEqual(['/console#accept-invitation', '']);
    const shown = await test.call('GET', '/v1/sessions/oidc/invitation', { headers: { Cookie } });
    expect(shown.body).toMatchObject({ organization: 'acme', email: 'bea@example.com' });
    const { to: again, kept } = await begin();
    expect((await navigate(issuer.signIn(again, 'bea'), kept)).to).toBe('/console#sign-in-failed=unknown_user');
    const accepted = await accept(Cookie);
    expect([accepted.status, accepted.body.me.user.id]).toEqual([201, id]);
    const next = await begin();
    expect((await navigate(issuer.signIn(next.to, 'bea'), next.kept)).to).toBe('/console');
    expect((await accept(Cookie)).status).toBe(401);
  });

  it('stays with its user, also if that person accepts an invitation to another organization', async () => {
    const { token } = await invite('ada@attack.example', 'attackers');
    const { to, Cookie } = await follow(token, 'ada');
    expect([to, Cookie]).toEqual(['/console', '']);
    const [row] = await test.appliance.sql`SELECT email FROM users WHERE oidc_subject = 'ada'`;
    expect(row).toEqual({ email: 'ada@example.com' });
  });

  it('that two people accept invitations with at the same time is connected once', async () => {
    const invitations = [await invite('one@example.com'), await invite('two@example.com')];
    const cookies = [];
    for (const { token } of invitations) cookies.push((await follow(token, 'twin')).Cookie);
    const answers = await Promise.all(cookies.map(accept));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
  });

  it('is connected by a confirmed address of a domain that the operator has given to the organization', async () => {
    const { sql } = test.appliance;
    await createUser(sql, test.operator, { email: 'kim@corp.example' });
    await createUser(sql, test.operator, { email: 'lee@other.example' });
    const signIn = async (subject: string, claims: Record<string, unknown>) => {
      const { to, kept } = await begin();
      return (await navigate(issuer.signIn(to, subject, claims), kept)).to;
    };
    const unknown = '/console#sign-in-failed=unknown_user';
    expect(await signIn('kim', { email: 'kim@corp.example', email_verified: false })).toBe(unknown);
    expect(await signIn('lee', { email: 'lee@other.example', email_verified: true })).toBe(unknown);
    expect(await signIn('new', { email: 'new@corp.example', email_verified: true })).toBe(unknown);
    expect(await signIn('kim', { email: 'Kim@Corp.example', email_verified: true })).toBe('/console');
    expect(await signIn('eve-2', { email: 'kim@corp.example', email_verified: true })).toBe(unknown);
  });

  it('of a wrong, expired, replaced or foreign invitation stays unknown', async () => {
    const first = await invite('zoe@example.com');
    const second = await test.call('POST', `/v1/users/${first.id}/invitation`, { key: first.key });
    expect((await follow(first.token, 'zoe')).to).toBe('/console#sign-in-failed=unknown_user');
    expect((await follow('x'.repeat(43), 'zoe')).to).toBe('/console#sign-in-failed=unknown_user');
    const foreign = await test.key({ ...MANAGER, org: 'attackers' });
    expect((await test.call('POST', `/v1/users/${first.id}/invitation`, { key: foreign })).status).toBe(404);
    await test.appliance.sql`UPDATE invitations SET expires_at = now()`;
    const token = new URL(second.body.url).hash.replace('#invitation=', '');
    expect((await follow(token, 'zoe')).to).toBe('/console#sign-in-failed=unknown_user');
    expect((await accept('invitation=forged')).status).toBe(401);
    expect((await test.call('GET', '/v1/sessions/oidc/invitation')).status).toBe(404);
  });
});

it('sign-ins that are begun again and again from one address are slowed', async () => {
  const braked = await openTestApi({
    worker: false,
    settings: {
      oidc: { issuer: issuer.url, audience: issuer.audience, client_id: 'console' },
      limits: { failed_logins_per_minute: 3 },
    },
  });
  try {
    const before = issuer.requests.length;
    const times: number[] = [];
    for (let i = 0; i < 5; i++) {
      const beganMs = performance.now();
      await fetch(`${braked.api.url}/v1/sessions/oidc`, { redirect: 'manual' });
      times.push(performance.now() - beganMs);
    }
    expect(times.slice(3).every((ms) => ms > 900)).toBe(true);
    // The issuer's endpoints are asked for once.
    expect(issuer.requests.length - before).toBe(1);
  } finally {
    await braked.close();
  }
});

it('without a client of the issuer there is no such way to sign in', async () => {
  const plain = await openTestApi({ worker: false });
  try {
    expect((await plain.call('GET', '/v1/sessions/methods')).body.methods).toEqual(['credential', 'link']);
    expect((await plain.call('GET', '/v1/sessions/oidc')).status).toBe(404);
  } finally {
    await plain.close();
  }
});
