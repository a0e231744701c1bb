import { z } from 'zod';
import type { Access } from '../../src/access/open-access.ts';
import { SIGN_IN_MS } from '../../src/access/sessions/oidc-sign-in.ts';
import { notFound } from '../../src/platform/errors.ts';
import { readCookie, renderCookie } from '../cookies.ts';
import { defineRoute, type Route } from '../route.ts';
import { isSecureOrigin, sessionCookie } from './sessions.ts';

const PATH = '/v1/sessions/oidc';
const COOKIE = 'sign_in';

const MethodsView = z
  .object({ methods: z.array(z.enum(['credential', 'link', 'oidc'])) })
  .meta({ id: 'SignInMethods' });

// All of them together fit into the headers of a request.
const parameter = z.string().max(2_048).optional();

/** Make the routes by which people sign in to the console at an OIDC issuer. */
export function oidcSignInRoutes({ sessions, oidcSignIn }: Pick<Access, 'sessions' | 'oidcSignIn'>): Route[] {
  const common = { method: 'GET', access: 'public', errors: 'detail', reads: 'none', capacity: 'none' } as const;
  const cookie = (value: string, maxAgeSeconds: number, origin: string | null) =>
    // The issuer redirects the browser back here. A strict cookie would not be sent then.
    renderCookie(COOKIE, value, { path: PATH, maxAgeSeconds, isSecure: isSecureOrigin(origin), sameSite: 'Lax' });
  const redirectUri = (origin: string | null) => `${origin ?? ''}${PATH}/callback`;
  const redirect = { 303: { description: 'To the issuer, or back to the console' } };
  return [
    defineRoute({
      ...common,
      path: '/v1/sessions/methods',
      operationId: 'listSignInMethods',
      summary: 'The ways in which a person can sign in to the console',
      responses: { 200: { description: 'The ways', schema: MethodsView } },
      handle: async () => ({ body: { methods: ['credential', 'link', ...(oidcSignIn === null ? [] : ['oidc'])] } }),
    }),
    defineRoute({
      ...common,
      path: PATH,
      operationId: 'beginOidcSignIn',
      summary: 'Sign in at the OIDC issuer',
      responses: redirect,
      refusals: [404],
      async handle({ origin }) {
        if (oidcSignIn === null) throw notFound('way to sign in', 'oidc');
        const { location, kept } = await oidcSignIn.begin(redirectUri(origin));
        const headers = { Location: location, 'Set-Cookie': cookie(kept, SIGN_IN_MS / 1000, origin) };
        return { status: 303, headers };
      },
    }),
    defineRoute({
      ...common,
      path: `${PATH}/callback`,
      operationId: 'finishOidcSignIn',
      summary: 'End of the way over the OIDC issuer, which leads to the console',
      query: z.object({ code: parameter, state: parameter, iss: parameter, error: parameter }),
      responses: redirect,
      refusals: [404],
      async handle({ query, cookies, origin }) {
        if (oidcSignIn === null) throw notFound('way to sign in', 'oidc');
        const used = cookie('', 0, origin);
        const result = await oidcSignIn.finish(query, readCookie(cookies, COOKIE), redirectUri(origin));
        if ('fault' in result) {
          const headers = { Location: `/console#sign-in-failed=${result.fault}`, 'Set-Cookie': used };
          return { status: 303, headers };
        }
        const { id, expiresAt } = await sessions.signInUser(result.user);
        const own = sessionCookie(id.reveal(), expiresAt, origin);
        return { status: 303, headers: { Location: '/console', 'Set-Cookie': [own, used] } };
      },
    }),
  ];
}
