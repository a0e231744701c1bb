import type { AuthenticationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import { PASSKEY_MS } from '../../src/access/accounts/passkeys.ts';
import type { Access } from '../../src/access/open-access.ts';
import { invalidInvitation } from '../../src/access/sessions/invitations.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { readCookie, renderCookie } from '../cookies.ts';
import { defineRoute, type Route } from '../route.ts';
import { deviceAnswer, deviceQuestion, newPassword } from './account.ts';
import { InvitationView, isSecureOrigin, SessionView, sessionReply } from './sessions.ts';

const PASSKEY_PATH = '/v1/sessions/passkey';
/** Cookie of a sign-in by passkey in progress. */
const COOKIE = 'passkey';

const MethodsView = z
  .object({ methods: z.array(z.enum(['credential', 'link', 'password', 'passkey', 'oidc'])) })
  .meta({ id: 'SignInMethods' });

const token = z.string().min(1).max(200);

type SignInAccess = Pick<Access, 'sessions' | 'accounts' | 'passkeys' | 'invitations' | 'oidcSignIn'>;

/** Create the routes by which a person without a session gets one by a passkey, an invitation or a reset link. */
export function accountSignInRoutes(sql: Sql, access: SignInAccess): Route[] {
  const { sessions, accounts, passkeys, invitations } = access;
  const common = { method: 'POST', access: 'public', signsIn: true } as const;
  const json = { bodyLimitBytes: SMALL_BODY_BYTES_MAX, refusals: [401, 409, 429] } as const;
  const sessionResponse = { 201: { description: 'The session, whose id is in the cookie', schema: SessionView } };
  const cookie = (value: string, origin: string | null) => {
    const maxAgeSeconds = value === '' ? 0 : PASSKEY_MS / 1000;
    return renderCookie(COOKIE, value, { path: PASSKEY_PATH, maxAgeSeconds, isSecure: isSecureOrigin(origin) });
  };
  return [
    methodsRoute(access),
    defineRoute({
      ...common,
      path: `${PASSKEY_PATH}/options`,
      operationId: 'askToSignInByPasskey',
      summary: 'Options for navigator.credentials.get(), to sign in with a passkey',
      responses: { 200: { description: 'PublicKeyCredentialRequestOptionsJSON', schema: deviceQuestion } },
      refusals: [409],
      async handle({ origin }) {
        const { options, kept } = await passkeys.askToSignIn(origin);
        return { body: options, headers: { 'Set-Cookie': cookie(kept, origin) } };
      },
    }),
    defineRoute({
      ...common,
      ...json,
      path: PASSKEY_PATH,
      operationId: 'signInByPasskey',
      summary: 'Start the session of a browser with the answer of a passkey',
      body: z.object({ response: deviceAnswer.describe('AuthenticationResponseJSON') }),
      responses: sessionResponse,
      async handle(context) {
        const { body, cookies, origin } = context;
        const response = body.response as unknown as AuthenticationResponseJSON;
        const user = await passkeys.signIn({ response, kept: readCookie(cookies, COOKIE), origin });
        const reply = await sessionReply(sql, sessions, await sessions.signInAccount(user), context);
        return { ...reply, headers: { 'Set-Cookie': [reply.headers['Set-Cookie'] as string, cookie('', origin)] } };
      },
    }),
    defineRoute({
      ...common,
      ...json,
      path: '/v1/sessions/invitation/view',
      operationId: 'viewInvitation',
      summary: 'What an invitation is for',
      body: z.object({ invitation: token }),
      responses: { 200: { description: 'The invitation', schema: InvitationView } },
      async handle({ body }) {
        const found = await invitations.find(body.invitation);
        if (found === null) throw invalidInvitation();
        const { organization, email, invitedBy } = found;
        return { body: { organization, email, invited_by: invitedBy } };
      },
    }),
    defineRoute({
      ...common,
      ...json,
      path: '/v1/sessions/invitation',
      operationId: 'signInByInvitation',
      summary: 'Accept an invitation with a new account, and start the session of a browser',
      body: z.object({ invitation: token, password: newPassword }),
      responses: sessionResponse,
      async handle(context) {
        const user = await accounts.acceptInvitation(context.body.invitation, context.body.password);
        return sessionReply(sql, sessions, await sessions.signInAccount(user), context);
      },
    }),
    defineRoute({
      ...common,
      ...json,
      path: '/v1/sessions/password-reset',
      operationId: 'signInByReset',
      summary:
        'Set a new password with a reset link, and start the session of a browser; other sessions end, and passkeys are deleted',
      body: z.object({ reset: token, password: newPassword }),
      responses: sessionResponse,
      async handle(context) {
        const user = await accounts.reset(context.body.reset, context.body.password);
        return sessionReply(sql, sessions, await sessions.signInAccount(user), context);
      },
    }),
  ];
}

/** Create the route that tells the sign-in page which methods to offer. */
function methodsRoute({ accounts, passkeys, oidcSignIn }: SignInAccess): Route {
  return defineRoute({
    method: 'GET',
    path: '/v1/sessions/methods',
    operationId: 'listSignInMethods',
    summary: 'Methods by which a person can sign in to the console',
    access: 'public',
    capacity: 'none',
    responses: { 200: { description: 'The methods', schema: MethodsView } },
    async handle({ origin }) {
      const methods: z.output<typeof MethodsView>['methods'] = ['credential', 'link'];
      if (await accounts.exist()) methods.push('password');
      if (await passkeys.canSignIn(origin)) methods.push('passkey');
      if (oidcSignIn !== null) methods.push('oidc');
      return { body: { methods } };
    },
  });
}
