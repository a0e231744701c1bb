import type { RegistrationResponseJSON } from '@simplewebauthn/server';
import { z } from 'zod';
import type { Account } from '../../src/access/accounts/account-store.ts';
import { PASSKEY_MS } from '../../src/access/accounts/passkeys.ts';
import { PASSWORD_CHARS_MAX } from '../../src/access/accounts/passwords.ts';
import { type Caller, ROLES } from '../../src/access/caller.ts';
import type { Access } from '../../src/access/open-access.ts';
import { forbidden } from '../../src/platform/errors.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { isPlainName, PLAIN_NAME_RULE } from '../../src/platform/printable.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { readCookie, renderCookie } from '../cookies.ts';
import { defineRoute, type Route } from '../route.ts';
import { isSecureOrigin, SessionView, sessionReply } from './sessions.ts';

const PATH = '/v1/me/account';
/** Cookie of a browser that is adding a passkey. */
const COOKIE = 'new_passkey';

export const newPassword = z.string().min(1).max(PASSWORD_CHARS_MAX).describe('at least 10 characters');
/** Response of a device, in the JSON form of Web Authentication Level 3. It is verified by its signature. */
export const deviceAnswer = z.looseObject({ id: z.string().min(1).max(2_000), type: z.literal('public-key') });
/** Challenge for a device, in the same form. */
export const deviceQuestion = z.looseObject({ challenge: z.string() });

const AccountView = z
  .object({
    email: z.string(),
    passkeys: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        created_at: z.iso.datetime(),
        last_used_at: z.iso.datetime().nullable(),
      }),
    ),
    organizations: z.array(z.object({ id: z.string(), name: z.string(), role: z.enum(ROLES) })),
  })
  .meta({ id: 'Account' });

const common = { access: 'caller', refusals: [403, 404, 409] } as const;
const json = { bodyLimitBytes: SMALL_BODY_BYTES_MAX } as const;
const sessionResponse = { 201: { description: 'The new session, whose id is in the cookie', schema: SessionView } };

type AccountAccess = Pick<Access, 'sessions' | 'accounts' | 'passkeys'>;
type Own = { readonly caller: Caller; readonly session: Secret | null };

/**
 * Return the account of a session that began with a password or passkey. A session of a token can't manage the account,
 * because an administrator can create a user's token.
 *
 * @throws AppError `session_required`, `account_missing` (403)
 */
async function accountOf({ sessions, accounts }: AccountAccess, { caller, session }: Own): Promise<Account> {
  const isOwn = session !== null && (await sessions.isOfAccount(session.reveal()));
  if (!isOwn) throw forbidden('sign in to the console with your password or passkey first', 'session_required');
  return accounts.of(caller);
}

/** Create the routes by which a person manages their own account. Each needs the session of a browser. */
export function accountRoutes(sql: Sql, access: AccountAccess): Route[] {
  const { sessions, accounts, passkeys } = access;
  const ownAccount = (context: Own) => accountOf(access, context);
  return [
    ...passkeyRoutes(access),
    defineRoute({
      ...common,
      method: 'GET',
      path: PATH,
      operationId: 'getAccount',
      summary: 'The account of the person who is signed in: passkeys and organizations',
      responses: { 200: { description: 'The account', schema: AccountView } },
      async handle(context) {
        const account = await ownAccount(context);
        const [keys, memberships] = await Promise.all([passkeys.list(account), accounts.membershipsOf(account)]);
        return {
          body: {
            email: account.email,
            passkeys: keys.map(({ id, name, createdAt, lastUsedAt }) => ({
              id,
              name,
              created_at: createdAt.toISOString(),
              last_used_at: lastUsedAt?.toISOString() ?? null,
            })),
            organizations: memberships.map(({ orgId, organization, role }) => ({
              id: orgId,
              name: organization,
              role,
            })),
          },
        };
      },
    }),
    defineRoute({
      ...common,
      ...json,
      method: 'PUT',
      path: `${PATH}/password`,
      operationId: 'changePassword',
      summary: 'Change your own password; all sessions of the account end, and this browser gets a new one',
      body: z.object({ current_password: z.string().min(1).max(PASSWORD_CHARS_MAX), new_password: newPassword }),
      responses: sessionResponse,
      async handle(context) {
        await ownAccount(context);
        const { caller, body, signal } = context;
        const user = await accounts.changePassword(caller, body.current_password, body.new_password, signal);
        return sessionReply(sql, sessions, await sessions.signInAccount(user), context);
      },
    }),
    defineRoute({
      ...common,
      ...json,
      method: 'POST',
      path: `${PATH}/organization`,
      operationId: 'switchOrganization',
      summary: 'Switch to another organization of the account, with a new session',
      body: z.object({ organization: z.string().min(1).max(200).describe('id or name') }),
      responses: sessionResponse,
      async handle(context) {
        const account = await ownAccount(context);
        const user = await accounts.memberIn(account, context.body.organization);
        return sessionReply(sql, sessions, await sessions.signInAccount(user), context);
      },
    }),
    defineRoute({
      ...common,
      ...json,
      method: 'POST',
      path: `${PATH}/invitation`,
      operationId: 'joinOrganization',
      summary: 'Accept an invitation to another organization with your own account, and switch to it',
      body: z.object({ invitation: z.string().min(1).max(200) }),
      responses: sessionResponse,
      refusals: [401, 403, 409],
      async handle(context) {
        const user = await accounts.join(await ownAccount(context), context.body.invitation);
        return sessionReply(sql, sessions, await sessions.signInAccount(user), context);
      },
    }),
  ];
}

/** Create the routes by which a person adds and deletes passkeys. */
function passkeyRoutes(access: AccountAccess): Route[] {
  const { passkeys } = access;
  const ownAccount = (context: Own) => accountOf(access, context);
  const passkeyCookie = (value: string, origin: string | null) => {
    const maxAgeSeconds = value === '' ? 0 : PASSKEY_MS / 1000;
    return renderCookie(COOKIE, value, { path: PATH, maxAgeSeconds, isSecure: isSecureOrigin(origin) });
  };
  return [
    defineRoute({
      ...common,
      method: 'POST',
      path: `${PATH}/passkeys/options`,
      operationId: 'askForPasskey',
      summary: 'Options for navigator.credentials.create(), to add a passkey',
      responses: { 200: { description: 'PublicKeyCredentialCreationOptionsJSON', schema: deviceQuestion } },
      async handle(context) {
        const { origin } = context;
        const { options, kept } = await passkeys.askForNew(await ownAccount(context), origin);
        return { body: options, headers: { 'Set-Cookie': passkeyCookie(kept, origin) } };
      },
    }),
    defineRoute({
      ...common,
      ...json,
      method: 'POST',
      path: `${PATH}/passkeys`,
      operationId: 'addPasskey',
      summary: 'Add the passkey that the device has made',
      body: z.object({
        name: z.string().trim().min(1).max(100).refine(isPlainName, PLAIN_NAME_RULE),
        response: deviceAnswer.describe('RegistrationResponseJSON'),
      }),
      responses: { 204: { description: 'Added' } },
      async handle(context) {
        const { caller, body, cookies, origin } = context;
        const response = body.response as unknown as RegistrationResponseJSON;
        const answer = { name: body.name, response, kept: readCookie(cookies, COOKIE), origin };
        await passkeys.add(caller, await ownAccount(context), answer);
        return { headers: { 'Set-Cookie': passkeyCookie('', origin) } };
      },
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: `${PATH}/passkeys/:passkey`,
      operationId: 'deletePasskey',
      summary: 'Delete a passkey of your own account',
      params: z.object({ passkey: z.string().min(1) }),
      responses: { 204: { description: 'Deleted' } },
      async handle(context) {
        await passkeys.delete(context.caller, await ownAccount(context), context.params.passkey);
        return {};
      },
    }),
  ];
}
