import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Caller, Scope } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { User } from '../../src/access/schema.ts';
import { createToken } from '../../src/access/tokens.ts';
import {
  createUser,
  editUser,
  findUser,
  listUsers,
  setRole,
  suspendUser,
  unsuspendUser,
} from '../../src/access/users.ts';
import { makeKeyRing, makeOrg, makeResolver } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';

const keyRing = makeKeyRing();
let db: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

let signedIn = 0;
/** Create a user with this role and return its caller. */
async function signIn(operator: Caller, role: User['role'], authLevel?: number): Promise<Caller> {
  const email = `${role}-${++signedIn}@example.com`;
  const user = await createUser(db.sql, operator, { email, role, authLevel });
  const { token } = await createToken(db.sql, keyRing, operator, { user, ttlMs: 60_000 });
  return makeResolver(db.sql, keyRing).resolve(`Bearer ${token.reveal()}`);
}

test('a user gets the auth level of the role unless one is given', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const levels: Record<string, number> = { member: 3, admin: 7, org_admin: 7, owner: 9, platform_admin: 10 };
  for (const [role, level] of Object.entries(levels)) {
    const user = await createUser(db.sql, operator, { email: `${role}@example.com`, role: role as User['role'] });
    expect(User.parse(user)).toEqual(user);
    expect(user).toMatchObject({ org_id: org.id, auth_level: level, department: null, suspended_at: null });
  }
  const custom = await createUser(db.sql, operator, { email: ' Ada@Example.COM ', authLevel: 2, department: 'legal' });
  expect(custom).toMatchObject({ email: 'ada@example.com', role: 'member', auth_level: 2, department: 'legal' });
  expect(await findUser(db.sql, operator, 'ADA@example.com')).toEqual(custom);
  expect(await findUser(db.sql, operator, custom.id)).toEqual(custom);
  expect(await listUsers(db.sql, operator)).toHaveLength(6);
});

test('an email is unique in an organization, and an OIDC identity is unique in the installation', async () => {
  const one = await makeOrg(db.sql, keyRing);
  const two = await makeOrg(db.sql, keyRing);
  const oidc = { issuer: 'https://id.example.com', subject: 'ada' };
  await createUser(db.sql, one.operator, { email: 'ada@example.com', oidc });
  await createUser(db.sql, two.operator, { email: 'ada@example.com' });
  for (const attempt of [
    () => createUser(db.sql, one.operator, { email: 'ADA@example.com' }),
    () => createUser(db.sql, two.operator, { email: 'other@example.com', oidc }),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'user_exists', status: 409 });
  }
});

test('invalid input for a user is 400 and names the field', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  await expect(createUser(db.sql, operator, { email: 'nobody' })).rejects.toMatchObject({
    status: 400,
    param: 'email',
  });
  await expect(createUser(db.sql, operator, { email: 'a@example.com', authLevel: 11 })).rejects.toMatchObject({
    status: 400,
    param: 'authLevel',
  });
});

test('a user is not found by another organization', async () => {
  const one = await makeOrg(db.sql, keyRing);
  const two = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, one.operator, { email: 'ada@example.com' });
  for (const attempt of [
    () => findUser(db.sql, two.operator, user.id),
    () => setRole(db.sql, two.operator, user.id, 'admin'),
    () => suspendUser(db.sql, two.operator, user.id),
    () => unsuspendUser(db.sql, two.operator, 'ada@example.com'),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'user_not_found', status: 404 });
  }
  expect(await listUsers(db.sql, two.operator)).toEqual([]);
});

test('a change of role changes the auth level with it and is audited with before and after', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'ada@example.com', role: 'owner' });
  expect(await setRole(db.sql, operator, user.id, 'member')).toMatchObject({ role: 'member', auth_level: 3 });
  expect(await setRole(db.sql, operator, user.email, 'admin', 8)).toMatchObject({ role: 'admin', auth_level: 8 });
  expect((await suspendUser(db.sql, operator, user.id)).suspended_at).not.toBeNull();
  expect((await unsuspendUser(db.sql, operator, user.id)).suspended_at).toBeNull();
  const rows = await db.sql`
    SELECT actor, action, detail FROM audit_log WHERE org_id = ${org.id} AND target = ${user.id} ORDER BY id`;
  expect(rows.map(({ action }) => action)).toEqual([
    'user.create',
    'user.set_role',
    'user.set_role',
    'user.suspend',
    'user.unsuspend',
  ]);
  expect(rows[1]).toMatchObject({
    actor: 'operator:test',
    detail: {
      before: { role: 'owner', auth_level: 9, suspended: false },
      after: { role: 'member', auth_level: 3, suspended: false },
    },
  });
});

test('only administrators manage users, and none can grant or change rights beyond their own', async () => {
  const { operator, caller: key } = await makeOrg(db.sql, keyRing);
  const member = await signIn(operator, 'member');
  const admin = await signIn(operator, 'admin');
  const owner = await createUser(db.sql, operator, { email: 'owner@example.com', role: 'owner' });
  const other = await createUser(db.sql, operator, { email: 'other@example.com' });
  for (const attempt of [
    () => createUser(db.sql, member, { email: 'new@example.com' }),
    () => setRole(db.sql, member, other.id, 'member'),
    () => suspendUser(db.sql, member, other.id),
    () => unsuspendUser(db.sql, member, other.id),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'scope_missing', status: 403 });
  }
  // A key with every scope manages members, and nobody with rights that no key has.
  for (const attempt of [
    () => createUser(db.sql, key, { email: 'new@example.com', role: 'admin' }),
    () => setRole(db.sql, key, other.id, 'admin'),
    () => editUser(db.sql, key, owner.id, { role: 'member' }),
    () => suspendUser(db.sql, key, owner.id),
    () => unsuspendUser(db.sql, key, owner.id),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'role_missing', status: 403 });
  }
  expect(await suspendUser(db.sql, key, other.id)).toMatchObject({ id: other.id });
  expect(await unsuspendUser(db.sql, key, other.id)).toMatchObject({ suspended_at: null });
  for (const attempt of [
    () => createUser(db.sql, admin, { email: 'new@example.com', role: 'platform_admin' }),
    () => createUser(db.sql, admin, { email: 'new@example.com', role: 'owner' }),
    () => createUser(db.sql, admin, { email: 'new@example.com', authLevel: 8 }),
    () => setRole(db.sql, admin, other.id, 'platform_admin'),
    () => setRole(db.sql, admin, other.id, 'member', 8),
    () => setRole(db.sql, admin, owner.id, 'member'),
    () => suspendUser(db.sql, admin, owner.id),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'exceeds_own_rights', status: 403 });
  }
  expect(await setRole(db.sql, admin, other.id, 'admin')).toMatchObject({ role: 'admin', auth_level: 7 });
});

test('a key gives the department of no other user, and nobody suspends himself', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'm@example.com', department: 'sales' });
  const scopes: Scope[] = ['embed', 'search', 'documents:write', 'users:manage'];
  const { key } = await createKey(db.sql, keyRing, operator, { name: 'k', scopes });
  const by = await makeResolver(db.sql, keyRing).resolve(`Bearer ${key.reveal()}`);
  const plain = await createUser(db.sql, by, { email: 'plain@example.com' });
  for (const attempt of [
    () => createUser(db.sql, by, { email: 'new@example.com', department: 'sales' }),
    () => editUser(db.sql, by, plain.id, { department: 'sales' }),
    () => editUser(db.sql, by, user.id, { department: null }),
    () => suspendUser(db.sql, by, user.id),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'exceeds_own_rights', status: 403 });
  }
  const admin = await signIn(operator, 'admin');
  expect(await editUser(db.sql, admin, user.id, { department: 'legal', authLevel: 5 })).toMatchObject({
    department: 'legal',
    auth_level: 5,
  });
  await expect(suspendUser(db.sql, admin, admin.userId as string)).rejects.toMatchObject({
    code: 'own_account',
    status: 409,
  });
});

test('the last owner who is not suspended stays one, unless those who run the installation decide otherwise', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const owner = await signIn(operator, 'owner');
  const id = owner.userId as string;
  const suspended = await createUser(db.sql, operator, { email: 'suspended@example.com', role: 'owner' });
  await suspendUser(db.sql, operator, suspended.id);
  await makeOrg(db.sql, keyRing).then((other) => signIn(other.operator, 'owner'));
  const lastOwner = { code: 'last_owner', status: 409 };
  await expect(setRole(db.sql, owner, id, 'member')).rejects.toMatchObject(lastOwner);
  await expect(editUser(db.sql, owner, id, { role: 'admin', authLevel: 9 })).rejects.toMatchObject(lastOwner);
  expect(await editUser(db.sql, owner, id, { role: 'owner', department: 'legal' })).toMatchObject({ role: 'owner' });
  // An administrator whose auth level is as high could suspend or demote the owner.
  const admin = await signIn(operator, 'admin', 9);
  await expect(suspendUser(db.sql, admin, id)).rejects.toMatchObject(lastOwner);
  await expect(setRole(db.sql, admin, id, 'member')).rejects.toMatchObject(lastOwner);

  const second = await signIn(operator, 'owner');
  expect(await setRole(db.sql, owner, id, 'member')).toMatchObject({ role: 'member', auth_level: 3 });
  await expect(setRole(db.sql, second, second.userId as string, 'admin')).rejects.toMatchObject(lastOwner);
  expect(await suspendUser(db.sql, operator, second.userId as string)).toMatchObject({ role: 'owner' });
});

test('of owners who give up their role or demote each other at the same time, one stays', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  for (let round = 0; round < 10; round++) {
    const owners = [await signIn(operator, 'owner'), await signIn(operator, 'owner')];
    const targets = round % 2 === 0 ? owners : owners.toReversed();
    const changes = owners.map((by, i) => setRole(db.sql, by, targets[i]?.userId as string, 'member'));
    const refused = (await Promise.allSettled(changes)).filter((change) => change.status === 'rejected');
    expect(refused.map(({ reason }) => reason.code)).toEqual(['last_owner']);
    const left = await db.sql`SELECT id FROM users WHERE org_id = ${org.id} AND role = 'owner'`;
    expect(left).toHaveLength(1);
    await setRole(db.sql, operator, left[0]?.['id'], 'member');
  }
});

test('concurrent changes of one user are all audited in a consistent order', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'ada@example.com' });
  const roles = ['admin', 'owner', 'member', 'org_admin', 'platform_admin', 'member'] as const;
  await Promise.all(roles.map((role) => setRole(db.sql, operator, user.id, role)));
  const rows = await db.sql<{ detail: { before: unknown; after: unknown } }[]>`
    SELECT detail FROM audit_log
    WHERE org_id = ${org.id} AND target = ${user.id} AND action = 'user.set_role' ORDER BY id`;
  expect(rows).toHaveLength(roles.length);
  for (const [i, row] of rows.entries()) if (i > 0) expect(row.detail.before).toEqual(rows[i - 1]?.detail.after);
});
