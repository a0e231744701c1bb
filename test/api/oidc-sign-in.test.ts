import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUser, suspendUser } from '../../src/access/users.ts';
import { type FakeIssuer, startFakeIssuer } from '../access/fake-issuer.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

let issuer: FakeIssuer;
let test: TestApi;
beforeAll(async () => {
  issuer = await startFakeIssuer();
  const oidc = { issuer: issuer.url, audience: issuer.audience, client_id: 'console', client_secret: 'its-secret' };
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

async function begin() {
  const { status, to, cookies } = await navigate('/v1/sessions/oidc');
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
] as const)('%s is not signed in', async (_name, subject, claims, fault) => {
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
  expect((await navigate(address, own.kept)).to).toBe('/console#sign-in-failed=unavailable');
});

it('an issuer that refuses or does not answer leads to a message, and never to a session', async () => {
  const { to, kept } = await begin();
  const state = new URL(to).searchParams.get('state');
  const refused = await navigate(`/v1/sessions/oidc/callback?error=access_denied&state=${state}`, kept);
  expect(refused.to).toBe('/console#sign-in-failed=refused');
  const address = issuer.signIn(to, 'ada');
  issuer.mode = 'error';
  expect((await navigate(address, kept)).to).toBe('/console#sign-in-failed=unavailable');
  expect((await begin()).status).toBe(503);
  issuer.mode = 'up';
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
