import { AppError, conflict, forbidden, notFound } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { hashCredential, newApiKey } from './api-key-format.ts';
import { recordAudit } from './audit.ts';
import { type Caller, requireScope, type Scope } from './caller.ts';
import { copyMemberships } from './groups/group-store.ts';
import { requireReadersOf } from './groups/require-readers.ts';
import { parseInput } from './input.ts';
import { limitsOrNull, requireLimitedScopes } from './key-limits.ts';
import {
  deleteOldEndedKeys,
  insertApiKey,
  lockApiKey,
  selectApiKey,
  selectApiKeys,
  selectKeyPrefix,
  selectKeysNamed,
  updateApiKey,
  updateRevocation,
} from './key-store.ts';
import { requireAtLeast, requireDepartment, SCOPES_BY_ROLE } from './roles.ts';
import { checkRowLimit } from './row-limits-store.ts';
import { type ApiKey, ApiKeyChanges, NewApiKey, type User } from './schema.ts';
import { selectUser } from './user-store.ts';

const DEFAULT_AUTH_LEVEL = 5;
/** Maximum number of attempts to find a free public id. Two random ids collide once in 2 x 10^14. */
const ID_TRIES_MAX = 5;
/** Maximum number of revoked and expired keys that an organization keeps. */
const ENDED_KEYS_MAX = 10_000;

/** New key with its plain text, which is never available again. */
export interface CreatedApiKey {
  readonly apiKey: ApiKey;
  readonly key: Secret;
}

/**
 * Create a key for the caller's organization. It never exceeds the rights of its creator or its user, and is refused
 * while either is suspended.
 *
 * @throws AppError `invalid_request` (400), `scope_missing` or `exceeds_own_rights` or `exceeds_user_rights` (403),
 *   `user_not_found` (404), `user_suspended` or `too_many_api_keys` (409)
 */
export async function createKey(sql: Sql, keyRing: KeyRing, by: Caller, input: NewApiKey): Promise<CreatedApiKey> {
  const { name, scopes, authLevel: wantedLevel, userId, lifetimeMs, ...given } = parseInput(NewApiKey, input);
  const limits = limitsOrNull(given.limits);
  requireScope(by, 'keys:manage');
  return inTransaction(sql, async (tx) => {
    const user = userId === undefined ? null : await selectUser(tx, by.orgId, userId);
    if (userId !== undefined && !user) throw notFound('user', userId);
    // Otherwise requests with the key would fail without an explanation.
    if (user?.suspended_at) throw conflict(`the user ${user.email} is suspended; resume it first`, 'user_suspended');
    const authLevel = wantedLevel ?? Math.min(DEFAULT_AUTH_LEVEL, by.authLevel, user?.auth_level ?? 10);
    requireRights(by, scopes, authLevel, user);
    if (user !== null) await requireReadersOf(tx, by, `user:${user.id}`);
    requireLimitedScopes(scopes, limits);
    const created = await insertNewKey(tx, keyRing, {
      orgId: by.orgId,
      userId: user?.id ?? null,
      name,
      scopes,
      authLevel,
      limits,
      lifetimeMs: lifetimeMs ?? null,
      by,
    });
    await recordAudit(tx, {
      orgId: by.orgId,
      actor: by.actor,
      action: 'key.create',
      target: created.apiKey.id,
      detail: { name, scopes, auth_level: authLevel, limits, user_id: user?.id ?? null },
    });
    return created;
  });
}

/**
 * List keys of the caller's organization, newest first, including revoked ones: a page, or the newest `LIST_ROWS_MAX`.
 */
export async function listKeys(
  sql: Sql,
  by: Caller,
  page?: { limit: number; after?: string | undefined },
): Promise<ApiKey[]> {
  return selectApiKeys(sql, by.orgId, page);
}

/** @throws AppError `api_key_not_found` (404) */
export async function findKey(sql: Sql, by: Caller, id: string): Promise<ApiKey> {
  const key = await selectApiKey(sql, by.orgId, id);
  if (!key) throw notFound('api key', id);
  return key;
}

/**
 * Find a key by id or name.
 *
 * @throws AppError `api_key_not_found` (404), `name_ambiguous` (409) if several keys have the name
 */
export async function findKeyNamed(sql: Sql, by: Caller, idOrName: string): Promise<ApiKey> {
  const [key, ...others] = await selectKeysNamed(sql, by.orgId, idOrName);
  if (key === undefined) throw notFound('api key', idOrName);
  if (key.id === idOrName || others.length === 0) return key;
  const ids = [key, ...others].map(({ id }) => id).join(', ');
  throw conflict(`several keys are named "${idOrName}"; use one of the ids ${ids}`, 'name_ambiguous');
}

/**
 * Change the name, rights or expiry of a key, effective within 1 s. The caller must have the old and the new rights.
 *
 * @throws AppError `invalid_request` (400), `scope_missing` or `exceeds_own_rights` or `exceeds_user_rights` (403),
 *   `api_key_not_found` (404), `api_key_revoked` (409)
 */
export async function editKey(sql: Sql, by: Caller, id: string, input: ApiKeyChanges): Promise<ApiKey> {
  const changes = parseInput(ApiKeyChanges, input);
  requireScope(by, 'keys:manage');
  return inTransaction(sql, async (tx) => {
    const { key: before, user } = await lockManagedKey(tx, by, id);
    if (before.revoked_at !== null) throw alreadyRevoked();
    const { name = before.name, scopes = before.scopes, authLevel = before.auth_level, lifetimeMs } = changes;
    const limits = changes.limits === undefined ? before.limits : limitsOrNull(changes.limits);
    requireRights(by, scopes, authLevel, user);
    requireLimitedScopes(scopes, limits);
    const after = await updateApiKey(tx, before, { name, scopes, authLevel, limits, lifetimeMs });
    const detail = { before: auditedFields(before), after: auditedFields(after) };
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'key.edit', target: id, detail });
    return after;
  });
}

/**
 * Revoke a key. Every process refuses it within 1 s. Revoking it again has no effect. A key may always revoke itself.
 *
 * @throws AppError `scope_missing` or `exceeds_own_rights` (403), `api_key_not_found` (404)
 */
export async function revokeKey(sql: Sql, by: Caller, id: string): Promise<void> {
  requireScope(by, 'keys:manage');
  await inTransaction(sql, async (tx) => {
    if (by.actor === `key:${id}`) await lockApiKey(tx, by.orgId, id);
    else await lockManagedKey(tx, by, id);
    if (!(await updateRevocation(tx, by.orgId, id, 0))) return;
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'key.revoke', target: id });
  });
}

/**
 * Create a key with the attributes and lifetime (counted from now) of an old one, and revoke the old one after
 * `graceMs`. Until then both work. The caller becomes the creator of the new key.
 *
 * @throws AppError `scope_missing` or `exceeds_own_rights` (403), `api_key_not_found` (404), `api_key_revoked` or
 *   `too_many_api_keys` (409)
 */
export async function rotateKey(
  sql: Sql,
  keyRing: KeyRing,
  by: Caller,
  id: string,
  graceMs = 0,
): Promise<CreatedApiKey> {
  requireScope(by, 'keys:manage');
  return inTransaction(sql, async (tx) => {
    const { key: old } = await lockManagedKey(tx, by, id);
    if (old.revoked_at !== null) throw alreadyRevoked();
    await updateRevocation(tx, by.orgId, id, graceMs);
    const created = await insertNewKey(tx, keyRing, {
      orgId: by.orgId,
      userId: old.user_id,
      name: old.name,
      scopes: old.scopes,
      authLevel: old.auth_level,
      limits: old.limits,
      lifetimeMs: old.expires_at === null ? null : Date.parse(old.expires_at) - Date.parse(old.created_at),
      by,
    });
    await copyMemberships(tx, by.orgId, `key:${id}`, `key:${created.apiKey.id}`);
    await recordAudit(tx, {
      orgId: by.orgId,
      actor: by.actor,
      action: 'key.rotate',
      target: id,
      detail: { new_key: created.apiKey.id, grace_ms: graceMs },
    });
    return created;
  });
}

/**
 * Lock a key, require that the caller has all its rights, and find its user.
 *
 * @throws AppError `exceeds_own_rights` (403), `api_key_not_found` (404)
 */
async function lockManagedKey(tx: Sql, by: Caller, id: string): Promise<{ key: ApiKey; user: User | null }> {
  const key = await lockApiKey(tx, by.orgId, id);
  if (!key) throw notFound('api key', id);
  const user = key.user_id === null ? null : await selectUser(tx, by.orgId, key.user_id);
  requireAtLeast(by, key.scopes, key.auth_level);
  requireDepartment(by, user?.department ?? null);
  await requireReadersOf(tx, by, user === null ? `key:${id}` : `user:${user.id}`);
  return { key, user };
}

/** Require that the caller and the user of a key have all rights that the key would get. */
function requireRights(by: Caller, scopes: readonly Scope[], authLevel: number, user: User | null): void {
  requireAtLeast(by, scopes, authLevel);
  if (user === null) return;
  requireDepartment(by, user.department);
  if (authLevel <= user.auth_level && scopes.every((scope) => SCOPES_BY_ROLE[user.role].has(scope))) return;
  throw forbidden(
    `a key of this user can have the scopes of a ${user.role} and an auth level up to ${user.auth_level}`,
    'exceeds_user_rights',
  );
}

function auditedFields({ name, scopes, auth_level, limits, expires_at }: ApiKey) {
  return { name, scopes, auth_level, limits, expires_at };
}

function alreadyRevoked(): AppError {
  return conflict('this key is already revoked; create a new one', 'api_key_revoked');
}

async function insertNewKey(
  tx: Sql,
  keyRing: KeyRing,
  attributes: Omit<Parameters<typeof insertApiKey>[1], 'id' | 'hash'>,
): Promise<CreatedApiKey> {
  const prefix = (await selectKeyPrefix(tx)) ?? '';
  for (let tries = 0; tries < ID_TRIES_MAX; tries++) {
    const { id, key } = newApiKey(prefix);
    const hash = hashCredential(keyRing.apiKeyPepper, key.reveal());
    const apiKey = await insertApiKey(tx, { ...attributes, id, hash });
    if (!apiKey) continue;
    await checkRowLimit(tx, attributes.orgId, 'api_keys');
    await deleteOldEndedKeys(tx, attributes.orgId, ENDED_KEYS_MAX);
    return { apiKey, key };
  }
  throw new AppError({ code: 'api_key_ids_exhausted', status: 500, message: 'no free key id was found; try again' });
}
