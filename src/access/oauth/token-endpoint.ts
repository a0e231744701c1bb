import { createHash } from 'node:crypto';
import { z } from 'zod';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { isSameHash } from '../api-key-format.ts';
import { recordAudit } from '../audit.ts';
import type { Scope } from '../caller.ts';
import { callerOfSubject } from '../subject.ts';
import { isSameResource } from './authorization-request.ts';
import { isDocumentUrl } from './client-document.ts';
import { type AuthMethod, selectClient } from './client-store.ts';
import { deleteGrant, type Grant, insertToken, selectToken, spendRefreshToken, takeCode } from './grant-store.ts';
import { oauthError } from './oauth-error.ts';
import { OAUTH_SCOPES, parseScopes } from './scopes.ts';
import type { OAuthSecrets } from './secrets.ts';

/** Lifetime of an access token. */
const ACCESS_MS = 15 * 60_000;

/** Response of the token endpoint (RFC 6749, section 5.1). */
export const TokenReply = z
  .object({
    access_token: z.string(),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('seconds'),
    refresh_token: z.string(),
    scope: z.string(),
  })
  .meta({ id: 'OAuthTokens' });
export type TokenReply = z.output<typeof TokenReply>;

export interface TokenContext {
  readonly sql: Sql;
  readonly secrets: OAuthSecrets;
}

/** Form fields of a request, by parameter. */
export type Form = Readonly<Record<string, string>>;

/** Result of a step that may end a grant. A refusal isn't thrown, because the transaction must commit. */
type Outcome = { readonly reply: TokenReply } | { readonly refusal: string };

const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;

/**
 * Exchange an authorization code or a refresh token for tokens (RFC 6749, sections 4.1.3 and 6). Each works only once.
 * A second use ends the grant, because somebody else may have the tokens of the first use.
 * @param authorization `Authorization` header of the request
 * @throws AppError `invalid_request`, `invalid_grant`, `invalid_target`, `invalid_scope`, `unsupported_grant_type`
 *   (400), `invalid_client` (401)
 */
export async function issueTokens(context: TokenContext, form: Form, authorization?: string): Promise<TokenReply> {
  const { grant_type: type } = form;
  if (type === undefined) throw oauthError('invalid_request', 'the parameter grant_type is missing');
  if (!GRANT_TYPES.some((known) => known === type)) {
    throw oauthError('unsupported_grant_type', `grant_type must be ${GRANT_TYPES.join(' or ')}`);
  }
  const clientId = await authenticateClient(context, form, authorization);
  const outcome = await inTransaction(context.sql, (sql) => {
    const inside = { ...context, sql };
    return type === 'refresh_token' ? refresh(inside, form, clientId) : exchangeCode(inside, form, clientId);
  });
  if ('refusal' in outcome) throw oauthError('invalid_grant', outcome.refusal);
  return outcome.reply;
}

async function exchangeCode(context: TokenContext, form: Form, clientId: string): Promise<Outcome> {
  const { sql, secrets } = context;
  const { code, code_verifier: verifier, redirect_uri: redirectUri, resource } = form;
  if (code === undefined) throw oauthError('invalid_request', 'the parameter code is missing');
  if (verifier === undefined) {
    throw oauthError('invalid_request', 'the parameter code_verifier is missing: clients must use PKCE (RFC 7636)');
  }
  const hash = secrets.hash('code', code);
  const presented = hash && (await takeCode(sql, hash));
  if (!presented || presented.grant.clientId !== clientId) return { refusal: 'the code is not known' };
  const { grant, challenge, isUsed, isExpired } = presented;
  if (isUsed) {
    await endGrant(sql, grant, 'its code was used twice');
    return { refusal: 'the code was used already, so the access has ended; connect again' };
  }
  if (isExpired) return { refusal: 'the code has expired; connect again' };
  const computed = createHash('sha256').update(verifier).digest('base64url');
  if (!isSameHash(Buffer.from(computed), Buffer.from(challenge))) return { refusal: 'the code_verifier is wrong' };
  if (redirectUri !== undefined && redirectUri !== grant.redirectUri) {
    return { refusal: 'redirect_uri is not the one of the authorization request' };
  }
  checkResource(grant, resource);
  return makeTokens(context, grant, grant.scopes);
}

async function refresh(context: TokenContext, form: Form, clientId: string): Promise<Outcome> {
  const { sql, secrets } = context;
  const { refresh_token: token, resource, scope } = form;
  if (token === undefined) throw oauthError('invalid_request', 'the parameter refresh_token is missing');
  const hash = secrets.hash('refresh', token);
  const live = hash && (await selectToken(sql, hash, 'refresh'));
  if (!live || live.grant.clientId !== clientId) {
    return { refusal: 'the refresh token is not known, has expired or was revoked; connect again' };
  }
  const { grant } = live;
  checkResource(grant, resource);
  const scopes = narrow(live.scopes, scope);
  if (live.isUsed || !(await spendRefreshToken(sql, hash))) {
    await endGrant(sql, grant, 'its refresh token was used twice');
    return { refusal: 'the refresh token was used already, so the access has ended; connect again' };
  }
  return makeTokens(context, grant, scopes);
}

/** @throws AppError `invalid_scope` (400) for rights that weren't granted */
function narrow(given: readonly Scope[], requested: string | undefined): readonly Scope[] {
  if (requested === undefined) return given;
  const wanted = parseScopes(requested);
  if (wanted.some((scope) => !given.includes(scope))) {
    throw oauthError(
      'invalid_scope',
      `this access has the scopes ${given.join(' ')}; connect again to get other scopes`,
    );
  }
  return OAUTH_SCOPES.filter((scope) => wanted.includes(scope));
}

/** @throws AppError `invalid_target` (400) */
function checkResource({ resource }: Grant, requested: string | undefined): void {
  if (requested === undefined || isSameResource(resource, requested)) return;
  throw oauthError('invalid_target', 'this access is for another tool server');
}

async function makeTokens({ sql, secrets }: TokenContext, grant: Grant, scopes: readonly Scope[]): Promise<Outcome> {
  if ((await callerOfSubject(sql, grant)) === null) {
    return { refusal: 'the user who gave this access is no longer valid' };
  }
  const access = secrets.create('access');
  const next = secrets.create('refresh');
  const endsAtMs = Math.min(Date.now() + ACCESS_MS, grant.expiresAt.getTime());
  await insertToken(sql, {
    hash: access.hash,
    grantId: grant.id,
    kind: 'access',
    scopes,
    expiresAt: new Date(endsAtMs),
  });
  // A refreshed token may have fewer rights. The next refresh can request all of them again.
  await insertToken(sql, {
    hash: next.hash,
    grantId: grant.id,
    kind: 'refresh',
    scopes: grant.scopes,
    expiresAt: grant.expiresAt,
  });
  const reply = {
    access_token: access.text,
    token_type: 'Bearer' as const,
    expires_in: Math.max(1, Math.round((endsAtMs - Date.now()) / 1000)),
    refresh_token: next.text,
    scope: scopes.join(' '),
  };
  return { reply };
}

async function endGrant(sql: Sql, { orgId, id, actor }: Grant, reason: string): Promise<void> {
  await deleteGrant(sql, orgId, id);
  await recordAudit(sql, { orgId, actor, action: 'grant.end', target: id, detail: { reason } });
}

/**
 * Revoke the grant of a token (RFC 7009). Ignore an unknown token.
 *
 * @throws AppError `invalid_request` (400), `invalid_client` (401)
 */
export async function revokePresented(context: TokenContext, form: Form, authorization?: string): Promise<void> {
  const { sql, secrets } = context;
  const { token } = form;
  if (token === undefined) throw oauthError('invalid_request', 'the parameter token is missing');
  const clientId = await authenticateClient(context, form, authorization);
  for (const kind of ['access', 'refresh'] as const) {
    const hash = secrets.hash(kind, token);
    const live = hash && (await selectToken(sql, hash, kind));
    if (live && live.grant.clientId === clientId) {
      await inTransaction(sql, (tx) => endGrant(tx, live.grant, 'the client revoked it'));
    }
  }
}

/**
 * Authenticate the client of a request, by its secret if it has one, and return its id.
 * @throws AppError `invalid_client`
 */
async function authenticateClient(
  { sql, secrets }: TokenContext,
  form: Form,
  authorization: string | undefined,
): Promise<string> {
  const { id, secret, method } = readCredentials(form, authorization);
  if (isDocumentUrl(id)) {
    if (method === 'none') return id;
    throw oauthError('invalid_client', 'a client with a metadata document has no secret');
  }
  const client = await selectClient(sql, id);
  const isRight = client !== null && (client.secretHash === null ? method === 'none' : isSecret(client.secretHash));
  if (isRight) return id;
  throw oauthError('invalid_client', 'the client is unknown, or its secret is wrong; connect it again');

  function isSecret(stored: Uint8Array): boolean {
    const presented = secrets.hash('client', secret);
    return presented !== null && isSameHash(stored, presented);
  }
}

/** Read the client credentials from the form or from `Authorization: Basic` (RFC 6749, section 2.3.1). */
function readCredentials(
  form: Form,
  authorization: string | undefined,
): { readonly id: string; readonly secret: string; readonly method: AuthMethod } {
  const [, basic] = /^basic +([A-Za-z0-9+/=]{1,8192}) *$/i.exec(authorization ?? '') ?? [];
  if (basic !== undefined) {
    const [id = '', secret = ''] = Buffer.from(basic, 'base64').toString('utf8').split(':').map(decodeFormText);
    if (form['client_id'] !== undefined && form['client_id'] !== id) {
      throw oauthError('invalid_request', 'client_id differs from the one in the header Authorization');
    }
    return { id, secret, method: 'client_secret_basic' };
  }
  const id = form['client_id'];
  if (id === undefined) throw oauthError('invalid_client', 'the parameter client_id is missing');
  const secret = form['client_secret'];
  return { id, secret: secret ?? '', method: secret === undefined ? 'none' : 'client_secret_post' };
}

function decodeFormText(text: string): string {
  return new URLSearchParams(`text=${text}`).get('text') ?? '';
}
