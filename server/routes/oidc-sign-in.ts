import { z } from 'zod';
import type { Access } from '../../src/access/open-access.ts';
import { SIGN_IN_MS } from '../../src/access/sessions/oidc-sign-in.ts';
import { notFound } from '../../src/platform/errors.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { readCookie, renderCookie } from '../cookies.ts';
import { defineRoute, type Route } from '../route.ts';
import { InvitationView, isSecureOrigin, SessionView, sessionCookie, sessionReply } from './sessions.ts';

const PATH = '/v1/sessions/oidc';
/** Cookie of a sign-in in progress. */
const COOKIE = 'sign_in';
/** Cookie of a person who has signed in and may accept an invitation. */
const INVITATION_COOKIE = 'invitation';

// Limit each parameter so that all fit into a request's headers.
const parameter = z.string().max(2_048).optional();

/** Create the routes by which people sign in to the console at an OIDC issuer. */
export function oidcSignInRoutes(sql: Sql, access: Pick<Access, 'sessions' | 'oidcSignIn'>): Route[] {
  const { sessions, oidcSignIn } = access;
  const common = {
    method: 'GET',
    access: 'public',
    signsIn: true,
    capacity: 'none',
  } as const;
  const cookie = (value: string, maxAgeSeconds: number, origin: string | null) =>
    // A strict cookie wouldn't be sent when the issuer redirects the browser back here.
    renderCookie(COOKIE, value, { path: PATH, maxAgeSeconds, isSecure: isSecureOrigin(origin), sameSite: 'Lax' });
  const redirectUri = (origin: string | null) => `${origin ?? ''}${PATH}/callback`;
  const redirect = { 303: { description: 'To the issuer, or back to the console' } };
  return [
    ...invitationRoutes(sql, access),
    defineRoute({
      ...common,
      path: PATH,
      operationId: 'beginOidcSignIn',
      summary: 'Sign in at the OIDC issuer, also to accept an invitation afterwards',
      query: z.object({ invitation: z.string().max(200).optional() }),
      responses: redirect,
      refusals: [404],
      async handle({ query, origin }) {
        if (oidcSignIn === null) throw notFound('way to sign in', 'oidc');
        const { location, kept } = await oidcSignIn.begin(redirectUri(origin), query.invitation ?? null);
        const headers = { Location: location, 'Set-Cookie': cookie(kept, SIGN_IN_MS / 1000, origin) };
        return { status: 303, headers, countsAsAttempt: true };
      },
    }),
    defineRoute({
      ...common,
      path: `${PATH}/callback`,
      operationId: 'finishOidcSignIn',
      summary: 'Return from the OIDC issuer; redirects to the console',
      query: z.object({ code: parameter, state: parameter, iss: parameter, error: parameter }),
      responses: redirect,
      refusals: [404],
      async handle({ query, cookies, origin }) {
        if (oidcSignIn === null) throw notFound('way to sign in', 'oidc');
        const used = cookie('', 0, origin);
        const result = await oidcSignIn.finish(query, readCookie(cookies, COOKIE), redirectUri(origin));
        if ('fault' in result) {
          const headers = { Location: `/console#sign-in-failed=${result.fault}`, 'Set-Cookie': used };
          return { status: 303, headers, countsAsAttempt: true };
        }
        if ('acceptance' in result) {
          const waiting = invitationCookie(result.acceptance, SIGN_IN_MS / 1000, origin);
          return { status: 303, headers: { Location: '/console#accept-invitation', 'Set-Cookie': [waiting, used] } };
        }
        const { id, expiresAt } = await sessions.signInUser(result.user);
        const own = sessionCookie(id.reveal(), expiresAt, origin);
        return { status: 303, headers: { Location: '/console', 'Set-Cookie': [own, used] } };
      },
    }),
  ];
}

function invitationCookie(value: string, maxAgeSeconds: number, origin: string | null): string {
  return renderCookie(INVITATION_COOKIE, value, { path: PATH, maxAgeSeconds, isSecure: isSecureOrigin(origin) });
}

/** Create the routes by which a person who has signed in at the issuer sees an invitation and accepts it. */
function invitationRoutes(sql: Sql, { sessions, oidcSignIn }: Pick<Access, 'sessions' | 'oidcSignIn'>): Route[] {
  const common = {
    path: `${PATH}/invitation`,
    access: 'public',
    signsIn: true,
    capacity: 'none',
  } as const;
  return [
    defineRoute({
      ...common,
      method: 'GET',
      operationId: 'getInvitation',
      summary: 'Invitation for the person who signed in at the OIDC issuer in this browser',
      responses: { 200: { description: 'The invitation', schema: InvitationView } },
      refusals: [404],
      async handle({ cookies }) {
        const found = await oidcSignIn?.findInvitation(readCookie(cookies, INVITATION_COOKIE));
        if (!found) throw notFound('invitation', 'current');
        const { organization, email, invitedBy } = found;
        return { body: { organization, email, invited_by: invitedBy } };
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      operationId: 'acceptInvitation',
      summary: 'Accept the invitation: link the identity at the OIDC issuer to the invited user',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      body: z.object({ accept: z.literal(true) }),
      responses: { 201: { description: 'The session, whose id is in the cookie', schema: SessionView } },
      refusals: [401, 404, 409, 429],
      async handle({ cookies, origin, signal }) {
        if (oidcSignIn === null) throw notFound('invitation', 'current');
        const user = await oidcSignIn.acceptInvitation(readCookie(cookies, INVITATION_COOKIE));
        const started = await sessions.signInUser(user);
        const reply = await sessionReply(sql, sessions, started, { cookies, origin, signal });
        const own = reply.headers['Set-Cookie'] as string;
        return { ...reply, headers: { 'Set-Cookie': [own, invitationCookie('', 0, origin)] } };
      },
    }),
  ];
}
