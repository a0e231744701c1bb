import type { Answer, TestApi } from './api.ts';

/** Session of a browser, with what its requests need. */
export interface TestSession {
  readonly cookie: string;
  readonly csrf: string;
  /** Headers of a request: the cookie and the CSRF token. */
  readonly headers: Record<string, string>;
  readonly answer: Answer;
}

/** Start a session by a key or token, or by the token of a link. */
export async function signIn(test: TestApi, by: { credential: string } | { link: string }): Promise<TestSession> {
  return sessionOf(await test.call('POST', '/v1/sessions', { json: by }));
}

/** Read the session of the reply to a sign-in. */
export function sessionOf(answer: Answer): TestSession {
  const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] as string;
  const csrf = answer.body.csrf_token as string;
  return { cookie, csrf, headers: { Cookie: cookie, 'X-CSRF-Token': csrf }, answer };
}
