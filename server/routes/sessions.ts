import { z } from 'zod';
import { PASSWORD_CHARS_MAX } from '../../src/access/accounts/passwords.ts';
import { CallerDescription, describeCaller } from '../../src/access/describe-caller.ts';
import type { Access } from '../../src/access/open-access.ts';
import type { Sessions, StartedSession } from '../../src/access/sessions/sessions.ts';
import { notFound } from '../../src/platform/errors.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { readCookie, renderCookie, SESSION_COOKIE } from '../cookies.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route, type RouteContext, type RouteReply } from '../route.ts';

/** Length of the longest credential: that of user tokens. */
const CREDENTIAL_CHARS_MAX = 8_192;

const SignIn = z.union([
  z.object({ credential: z.string().min(1).max(CREDENTIAL_CHARS_MAX).describe('an API key or a user token') }),
  z.object({ email: z.string().min(1).max(254), password: z.string().min(1).max(PASSWORD_CHARS_MAX) }),
  z.object({ link: z.string().min(1).max(200).describe('the token of a one-time link') }),
]);

export const SessionView = z
  .object({
    csrf_token: z.string().describe('value to send in the header X-CSRF-Token of every request except GET'),
    expires_at: z.iso.datetime().describe('latest end of the session; an unused session ends earlier'),
    idle_timeout_seconds: z.int(),
    me: CallerDescription,
  })
  .meta({ id: 'Session' });

export const InvitationView = z
  .object({
    organization: z.string(),
    email: z.string().describe('address of the invited user'),
    invited_by: z.string(),
  })
  .meta({ id: 'Invitation' });

/** Return true if browsers reach this service through https. */
export function isSecureOrigin(origin: string | null): boolean {
  return origin?.startsWith('https:') === true;
}

/** Render the cookie of a session. @param id null removes it */
export function sessionCookie(id: string | null, expiresAt: Date, origin: string | null): string {
  const maxAgeSeconds = id === null ? 0 : Math.max(0, Math.floor((expiresAt.getTime() - Date.now()) / 1000));
  return renderCookie(SESSION_COOKIE, id ?? '', { path: '/', maxAgeSeconds, isSecure: isSecureOrigin(origin) });
}

/** Create the routes by which a browser gets and ends a session. */
export function sessionRoutes(sql: Sql, { sessions, accounts }: Pick<Access, 'sessions' | 'accounts'>): Route[] {
  async function start(body: z.output<typeof SignIn>, signal: AbortSignal): Promise<StartedSession> {
    if ('link' in body) return sessions.signInByLink(body.link);
    if ('credential' in body) return sessions.signIn(body.credential);
    return sessions.signInAccount(await accounts.signIn(body.email, body.password, signal));
  }
  const noSession = () => notFound('session', 'current');
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/sessions',
      operationId: 'createSession',
      summary:
        'Start the session of a browser with an API key, a user token, a password or a one-time link; sets a cookie',
      access: 'public',
      signsIn: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      body: SignIn,
      responses: { 201: { description: 'The session, whose id is in the cookie', schema: SessionView } },
      refusals: [401, 429],
      async handle({ body, cookies, origin, signal }) {
        const started = await start(body, signal);
        return sessionReply(sql, sessions, started, { cookies, origin, signal });
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/sessions/current',
      operationId: 'getSession',
      summary: 'The session of this browser',
      access: 'caller',
      responses: { 200: { description: 'The session', schema: SessionView } },
      refusals: [404],
      async handle({ caller, session, signal }) {
        if (session === null) throw noSession();
        const id = session.reveal();
        const limits = await sessions.limitsOf(id);
        const me = await describeCaller(reportQueries(sql, signal), caller);
        return { body: viewOf({ ...limits, csrfToken: sessions.csrfTokenOf(id) }, me) };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/sessions/current',
      whileMoving: true,
      operationId: 'endSession',
      summary: 'Sign out this browser',
      access: 'caller',
      responses: { 204: { description: 'Signed out' } },
      refusals: [404],
      async handle({ session, origin }) {
        if (session === null) throw noSession();
        await sessions.signOut(session.reveal());
        return { headers: { 'Set-Cookie': sessionCookie(null, new Date(0), origin) } };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/sessions',
      whileMoving: true,
      operationId: 'endAllSessions',
      summary: 'Sign out every browser of this key or user, within a second',
      access: 'caller',
      responses: { 204: { description: 'Signed out' } },
      async handle({ caller, origin }) {
        await sessions.signOutEverywhere(caller);
        return { headers: { 'Set-Cookie': sessionCookie(null, new Date(0), origin) } };
      },
    }),
  ];
}

/** Reply with a new session for the browser, and end its earlier one. */
export async function sessionReply(
  sql: Sql,
  sessions: Sessions,
  started: StartedSession,
  { cookies, origin, signal }: Pick<RouteContext<unknown, unknown, unknown>, 'cookies' | 'origin' | 'signal'>,
): Promise<RouteReply & { readonly headers: Readonly<Record<string, string>> }> {
  const earlier = readCookie(cookies, SESSION_COOKIE);
  if (earlier !== null) await sessions.signOut(earlier);
  const me = await describeCaller(reportQueries(sql, signal), started.caller);
  return {
    status: 201,
    headers: { 'Set-Cookie': sessionCookie(started.id.reveal(), started.expiresAt, origin) },
    body: viewOf(started, me),
  };
}

function viewOf(
  { csrfToken, expiresAt, idleMs }: Pick<StartedSession, 'csrfToken' | 'expiresAt' | 'idleMs'>,
  me: CallerDescription,
): z.output<typeof SessionView> {
  return {
    csrf_token: csrfToken,
    expires_at: expiresAt.toISOString(),
    idle_timeout_seconds: Math.round(idleMs / 1000),
    me,
  };
}
