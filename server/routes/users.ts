import { z } from 'zod';
import type { Accounts } from '../../src/access/accounts/accounts.ts';
import type { Access } from '../../src/access/open-access.ts';
import { NewUser, User, UserChanges } from '../../src/access/schema.ts';
import type { Invitations } from '../../src/access/sessions/invitations.ts';
import { revokeToken, revokeUserTokens } from '../../src/access/tokens.ts';
import { createUser, editUser, findUser, listUsers } from '../../src/access/users.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import type { Secret } from '../../src/platform/secret.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { PageQuery, pageSchema, readPage } from '../pages.ts';
import { defineRoute, type Route, type RouteReply } from '../route.ts';

const params = z.object({ user: z.string().min(1).describe('id or email') });
const { authLevel: newLevel, ...newUser } = NewUser.shape;
const { authLevel: changedLevel, ...changes } = UserChanges.shape;

const CreateUserBody = z.object({
  ...newUser,
  auth_level: newLevel.describe('default: the level of the role'),
});
const EditUserBody = z.object({
  ...changes,
  auth_level: changedLevel.describe('default if the role changes: the level of the new role'),
});
const UserView = User.meta({ id: 'User' });
const LinkView = z
  .object({ url: z.string().describe('works once'), expires_at: z.iso.datetime() })
  .meta({ id: 'InvitationLink' });

/** Create the routes of the people of an organization. */
export function userRoutes(sql: Sql, { invitations, accounts }: Pick<Access, 'invitations' | 'accounts'>): Route[] {
  return [
    ...credentialRoutes(sql, invitations, accounts),
    defineRoute({
      access: 'users:manage',
      method: 'POST',
      path: '/v1/users',
      operationId: 'createUser',
      summary: 'Add a person to the organization, with no more rights than the caller has',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: CreateUserBody,
      responses: { 201: { description: 'The user', schema: UserView } },
      refusals: [409],
      async handle({ caller, body }) {
        const { auth_level: authLevel, ...others } = body;
        return { status: 201, body: await createUser(editQueries(sql), caller, { ...others, authLevel }) };
      },
    }),
    defineRoute({
      access: 'users:manage',
      method: 'GET',
      path: '/v1/users',
      operationId: 'listUsers',
      summary: 'People of the organization, newest first',
      query: PageQuery,
      responses: { 200: { description: 'A page', schema: pageSchema(UserView) } },
      handle: async ({ caller, query, signal }) => ({
        body: await readPage(query, (page) => listUsers(reportQueries(sql, signal), caller, page)),
      }),
    }),
    defineRoute({
      access: 'users:manage',
      method: 'GET',
      path: '/v1/users/:user',
      operationId: 'getUser',
      summary: 'One person of the organization',
      params,
      responses: { 200: { description: 'The user', schema: UserView } },
      handle: async ({ caller, params, signal }) => ({
        body: await findUser(reportQueries(sql, signal), caller, params.user),
      }),
    }),
    defineRoute({
      access: 'users:manage',
      method: 'PATCH',
      path: '/v1/users/:user',
      operationId: 'editUser',
      summary: 'Change the role, level or department of a person, or suspend the person; effective within a second',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: EditUserBody,
      responses: { 200: { description: 'The user after the edit', schema: UserView } },
      refusals: [409],
      async handle({ caller, params, body }) {
        const { auth_level: authLevel, ...others } = body;
        return { body: await editUser(editQueries(sql), caller, params.user, { ...others, authLevel }) };
      },
    }),
  ];
}

/** Create the routes of people's sign-in credentials. */
function credentialRoutes(sql: Sql, invitations: Invitations, accounts: Accounts): Route[] {
  return [
    defineRoute({
      access: 'users:manage',
      method: 'POST',
      path: '/v1/users/:user/invitation',
      operationId: 'inviteUser',
      summary:
        'Create an invitation link, with which a person signs in as this user, by password or at the OIDC issuer',
      params,
      repliesSecret: true,
      responses: { 201: { description: 'The link, which replaces earlier ones', schema: LinkView } },
      refusals: [409],
      async handle({ caller, params, origin }) {
        return linkReply(origin, 'invitation', await invitations.create(caller, params.user));
      },
    }),
    defineRoute({
      access: 'users:manage',
      method: 'POST',
      path: '/v1/users/:user/password-reset',
      operationId: 'resetPassword',
      summary: 'Create a link to set a new password; nothing changes until the link is used',
      params,
      repliesSecret: true,
      responses: { 201: { description: 'The link, which replaces earlier ones', schema: LinkView } },
      refusals: [409],
      async handle({ caller, params, origin }) {
        return linkReply(origin, 'reset', await accounts.createReset(caller, params.user));
      },
    }),
    defineRoute({
      access: 'users:manage',
      method: 'POST',
      path: '/v1/users/:user/revoke-tokens',
      operationId: 'revokeUserTokens',
      summary: 'Revoke all tokens and sessions of a person within a second; keys stay valid',
      params,
      responses: { 200: { description: 'The user', schema: UserView } },
      handle: async ({ caller, params }) => ({ body: await revokeUserTokens(editQueries(sql), caller, params.user) }),
    }),
    defineRoute({
      access: 'users:manage',
      method: 'DELETE',
      path: '/v1/tokens/:token',
      operationId: 'revokeToken',
      summary: 'Revoke one user token by its id, within a second; needs the session of an administrator',
      params: z.object({ token: z.string().min(1).describe('id of the token, not the token itself') }),
      responses: { 200: { description: 'Revoked', schema: z.object({ id: z.string(), revoked: z.literal(true) }) } },
      async handle({ caller, params }) {
        await revokeToken(editQueries(sql), caller, params.token);
        return { body: { id: params.token, revoked: true } };
      },
    }),
  ];
}

/** Reply with the address of a console page that takes a token. Browsers don't send the part after the `#`. */
function linkReply(
  origin: string | null,
  page: 'invitation' | 'reset',
  { token, expiresAt }: { readonly token: Secret; readonly expiresAt: Date },
): RouteReply {
  const url = `${origin ?? ''}/console#${page}=${token.reveal()}`;
  return { status: 201, body: { url, expires_at: expiresAt.toISOString() } };
}
