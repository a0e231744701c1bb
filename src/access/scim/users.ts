import { conflict, invalidRequest, notFound } from '../../platform/errors.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import { recordAudit } from '../audit.ts';
import type { Caller } from '../caller.ts';
import { requireReadersOf } from '../groups/require-readers.ts';
import { parseInput } from '../input.ts';
import { NewUser } from '../schema.ts';
import { createUser, editUser, findUser } from '../users.ts';
import { invalidFilter, readFilter } from './filter.ts';
import { type Assigned, assign } from './patch.ts';
import { groupIdOf, pageOf, toList } from './resources.ts';
import { type ScimListQuery, type ScimPatch, type ScimUser, ScimUserInput, URN } from './schema.ts';
import * as store from './scim-store.ts';

/**
 * Add a member to the organization, or restore one whom the directory had deleted.
 *
 * @throws AppError `invalidValue` (400), `uniqueness` (409), and those of `createUser`
 */
export async function createScimUser(sql: Sql, by: Caller, input: ScimUserInput): Promise<ScimUser> {
  const email = emailOf(input);
  return inTransaction(sql, async (tx) => {
    const known = await store.findDeprovisioned(tx, by.orgId, email);
    if (known === null && (await store.selectUsers(tx, by.orgId, { email }, { offset: 0, limit: 1 })).total > 0) {
      throw conflict(`the organization already has a user "${email}"`, 'uniqueness');
    }
    const { id } = known === null ? await createUser(tx, by, { email }) : { id: known };
    if (known !== null) await store.markDeprovisioned(tx, by.orgId, id, false);
    return write(tx, by, id, input);
  });
}

/** @throws AppError `user_not_found` (404) */
export async function getScimUser(sql: Sql, by: Caller, id: string): Promise<ScimUser> {
  return toResource(await find(sql, by, id));
}

/** List users by id. @throws AppError `invalidFilter` (400) */
export async function listScimUsers(sql: Sql, by: Caller, query: ScimListQuery) {
  const page = pageOf(query);
  const filter: Record<string, string | boolean> = {};
  for (const { attribute, value } of readFilter(query.filter)) {
    if (attribute === 'id') filter['id'] = value;
    else if (attribute === 'username' || /^emails(\[.*\])?(\.value)?$/.test(attribute)) filter['email'] = value;
    else if (attribute === 'externalid') filter['externalId'] = value;
    else if (attribute === 'active') filter['isActive'] = value === 'true';
    else throw invalidFilter();
  }
  const { total, rows } = await store.selectUsers(sql, by.orgId, filter, page);
  return toList(rows.map(toResource), total, query);
}

/** Replace a user. @throws as `patchScimUser` */
export async function replaceScimUser(sql: Sql, by: Caller, id: string, input: ScimUserInput): Promise<ScimUser> {
  return inTransaction(sql, async (tx) => {
    await find(tx, by, id);
    return write(tx, by, id, input);
  });
}

/**
 * Change a user's email address, directory id or active state.
 *
 * @throws AppError `invalidValue` or `invalidPath` (400), `user_not_found` (404), `uniqueness` (409), and those of
 *   `editUser`
 */
export async function patchScimUser(sql: Sql, by: Caller, id: string, patch: ScimPatch): Promise<ScimUser> {
  return inTransaction(sql, async (tx) => {
    const { email, externalId, isActive } = await find(tx, by, id);
    const values: Assigned = { userName: email, externalId, active: isActive };
    for (const operation of patch.Operations) assign(values, operation);
    return write(tx, by, id, parseInput(ScimUserInput, values as never));
  });
}

/**
 * Delete a user as seen by the directory: suspend the user, but keep the name and documents. Adding the same address
 * again restores the user.
 *
 * @throws AppError `user_not_found` (404), and those of `editUser`
 */
export async function deleteScimUser(sql: Sql, by: Caller, id: string): Promise<void> {
  await inTransaction(sql, async (tx) => {
    await find(tx, by, id);
    await editUser(tx, by, id, { suspended: true });
    await store.markDeprovisioned(tx, by.orgId, id, true);
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'user.deprovision', target: id });
  });
}

async function find(sql: Sql, by: Caller, id: string): Promise<store.UserRow> {
  const user = await store.selectUser(sql, by.orgId, id);
  if (!user) throw notFound('user', id);
  return user;
}

async function write(tx: Sql, by: Caller, id: string, input: ScimUserInput): Promise<ScimUser> {
  const email = emailOf(input);
  const before = await findUser(tx, by, id);
  // The owner of the new address could sign in as a user who has never signed in.
  const isUnbound = before.oidc_subject === null && !before.has_account;
  if (isUnbound && before.email !== email) await requireReadersOf(tx, by, `user:${id}`);
  // `editUser` checks that the caller may manage the user.
  await editUser(tx, by, id, { suspended: !input.active });
  if (!(await store.updateIdentity(tx, by.orgId, id, { email, externalId: input.externalId ?? null }))) {
    throw conflict(`another user has the address "${email}"`, 'uniqueness');
  }
  if (before.email !== email) {
    const detail = { before: before.email, after: email };
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'user.rename', target: id, detail });
  }
  return getScimUser(tx, by, id);
}

/** Return a user's email address: the user name, or else the primary address. */
function emailOf({ userName, emails = [] }: ScimUserInput): string {
  const primary = emails.find((email) => email.primary) ?? emails[0];
  for (const text of [userName, primary?.value]) {
    const parsed = NewUser.shape.email.safeParse(text);
    if (parsed.success) return parsed.data;
  }
  throw invalidRequest(
    'userName: must be an email address; map it to one in the directory',
    'userName',
    'invalidValue',
  );
}

function toResource(user: store.UserRow): ScimUser {
  const created = user.createdAt.toISOString();
  return {
    schemas: [URN.user],
    id: user.id,
    ...(user.externalId === null ? {} : { externalId: user.externalId }),
    userName: user.email,
    active: user.isActive,
    emails: [{ value: user.email, type: 'work', primary: true }],
    groups: user.groups.map(({ name, displayName }) => ({ value: groupIdOf(name), display: displayName })),
    meta: { resourceType: 'User', created, lastModified: created, location: `/scim/v2/Users/${user.id}` },
  };
}
