import { z } from 'zod';
import { KEY_PREFIX } from '../../access/api-key-format.ts';
import { ROLES, SCOPES } from '../../access/caller.ts';
import { KeyLimits } from '../../access/key-limits.ts';
import { setKeyPrefix } from '../../access/key-prefix.ts';
import {
  type CreatedApiKey,
  createKey,
  editKey,
  findKeyNamed,
  listKeys,
  revokeKey,
  rotateKey,
} from '../../access/keys.ts';
import { GRANT_ROWS_MAX } from '../../access/oauth/oauth.ts';
import { LIST_ROWS_MAX } from '../../access/schema.ts';
import { issueToken, revokeToken as revokeOneToken, revokeUserTokens } from '../../access/tokens.ts';
import { resolveKeyLimits } from '../../appliance/key-limits.ts';
import { parseDuration } from '../../platform/duration.ts';
import { listPage } from '../list-page.ts';
import { forInstallation, forOrganization } from '../operation.ts';

export const create = forOrganization(
  z.object({
    name: z.string(),
    scope: z.array(z.enum(SCOPES)),
    auth_level: z.number().int().optional(),
    user: z.string().optional(),
    expires: z.string().optional(),
    limits: KeyLimits.optional(),
  }),
  async ({ name, scope, auth_level: authLevel, user, expires, limits }, { appliance, operator }) => {
    const created = await createKey(appliance.sql, appliance.keyRing, operator, {
      name,
      authLevel,
      userId: user,
      limits,
      ...(scope.length > 0 ? { scopes: scope } : {}),
      ...(expires === undefined ? {} : { lifetimeMs: parseDuration(expires, 'expires') }),
    });
    return viewOf(created);
  },
);

export const list = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  listPage(await listKeys(appliance.sql, operator), LIST_ROWS_MAX),
);

export const find = forOrganization(z.object({ key: z.string() }), async ({ key }, { appliance, operator }) => {
  const { id, name, limits } = await findKeyNamed(appliance.sql, operator, key);
  return { id, name, limits };
});

/** Replace the names of models and buckets in limits by their ids. */
export const resolveLimits = forOrganization(
  z.object({ limits: KeyLimits }),
  async ({ limits }, { appliance, operator }) => ({ limits: await resolveKeyLimits(appliance, operator, limits) }),
  ['embedding', 'rerankers'],
);

/** Change a key. Absent fields stay unchanged. `expires` is a lifetime from now, or null for unlimited. */
export const edit = forOrganization(
  z.object({
    id: z.string(),
    name: z.string().optional(),
    scope: z.array(z.enum(SCOPES)),
    auth_level: z.number().int().optional(),
    expires: z.string().nullish(),
    limits: KeyLimits.nullish(),
  }),
  async ({ id, name, scope, auth_level: authLevel, expires, limits }, { appliance, operator }) =>
    editKey(appliance.sql, operator, id, {
      name,
      authLevel,
      limits,
      ...(scope.length > 0 ? { scopes: scope } : {}),
      lifetimeMs: typeof expires === 'string' ? parseDuration(expires, 'expires') : expires,
    }),
);

export const revoke = forOrganization(z.object({ id: z.string() }), async ({ id }, { appliance, operator }) => {
  await revokeKey(appliance.sql, operator, id);
  return { revoked: true };
});

/** Replace a key. The old one still works for the time `grace`; by default it stops immediately. */
export const rotate = forOrganization(
  z.object({ id: z.string(), grace: z.string().optional() }),
  async ({ id, grace }, { appliance, operator }) => {
    const graceMs = grace === undefined ? 0 : parseDuration(grace, 'grace');
    return viewOf(await rotateKey(appliance.sql, appliance.keyRing, operator, id, graceMs));
  },
);

/** Create a token of a user. Add the user if the email is unknown. */
export const createToken = forOrganization(
  z.object({ user: z.string(), role: z.enum(ROLES).optional(), ttl: z.string() }),
  async ({ user, role, ttl }, { appliance, operator }) => {
    const { token, id, expires_at } = await issueToken(appliance.sql, appliance.keyRing, operator, {
      email: user,
      ttlMs: parseDuration(ttl, 'ttl'),
      ...(role === undefined ? {} : { role }),
    });
    return { token: token.reveal(), id, expires_at };
  },
);

/** List the access grants that people of the organization gave to clients of the tool server. */
export const listGrants = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  listPage(await appliance.access.oauth.listGrants(operator), GRANT_ROWS_MAX),
);

/** Revoke one token, one client's access, or all tokens of a user. */
export const revokeToken = forOrganization(
  z.object({ id: z.string().optional(), user: z.string().optional() }),
  async ({ id, user }, { appliance, operator }) => {
    if (id?.startsWith('grant_')) await appliance.access.oauth.revokeGrant(operator, id);
    else if (id !== undefined) await revokeOneToken(appliance.sql, operator, id);
    else if (user !== undefined) await revokeUserTokens(appliance.sql, operator, user);
    return { revoked: true };
  },
);

/** Render a new key. This is the only place that reveals a key. */
function viewOf({ apiKey, key }: CreatedApiKey) {
  const { id, name, org_id, scopes, auth_level, limits, expires_at } = apiKey;
  return { id, key: key.reveal(), name, org_id, scopes, auth_level, limits, expires_at };
}

/** Set the prefix of new key ids. The output also contains the previous one. */
export const setPrefix = forInstallation(
  z.object({
    prefix: z.string().regex(KEY_PREFIX, 'must be one to three letters and digits').nullable(),
  }),
  async ({ prefix }, { appliance, actor }) => ({ prefix, ...(await setKeyPrefix(appliance.sql, actor, prefix)) }),
);
