import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createOrganization,
  findOrganization,
  listOrganizations,
  setPlan,
  suspendOrganization,
  unsuspendOrganization,
} from '../../src/access/organizations.ts';
import { BULK_PRIORITY_BY_PLAN } from '../../src/access/plans.ts';
import { Organization } from '../../src/access/schema.ts';
import { createTestDatabase } from '../support/postgres.ts';

let db: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

const ACTOR = 'operator:test';

async function auditOf(orgId: string) {
  return db.sql`SELECT actor, action, target, detail FROM audit_log WHERE org_id = ${orgId} ORDER BY id`;
}

test('an organization is created, found by id and by name, and listed newest first', async () => {
  const first = await createOrganization(db.sql, ACTOR, { name: ' Acme ', plan: 'pro' });
  const second = await createOrganization(db.sql, ACTOR, { name: 'Bolt', plan: 'free' });
  expect(Organization.parse(first)).toEqual(first);
  expect(first).toMatchObject({ name: 'Acme', plan: 'pro', suspended_at: null });
  expect(await findOrganization(db.sql, first.id)).toEqual(first);
  expect(await findOrganization(db.sql, 'Acme')).toEqual(first);
  expect((await listOrganizations(db.sql)).map(({ id }) => id)).toEqual(expect.arrayContaining([second.id, first.id]));
  expect(await auditOf(first.id)).toEqual([
    { actor: ACTOR, action: 'organization.create', target: first.id, detail: { name: 'Acme', plan: 'pro' } },
  ]);
});

test('the name of an organization is unique and never has the form of an id', async () => {
  await createOrganization(db.sql, ACTOR, { name: 'Once', plan: 'pro' });
  await expect(createOrganization(db.sql, ACTOR, { name: 'Once', plan: 'free' })).rejects.toMatchObject({
    code: 'organization_exists',
    status: 409,
  });
  for (const name of ['', '  ', 'org_01', 'a\nb', 'x'.repeat(101)]) {
    await expect(createOrganization(db.sql, ACTOR, { name, plan: 'free' })).rejects.toMatchObject({
      code: 'invalid_request',
      param: 'name',
    });
  }
});

test('changes of plan and suspension are audited, and unknown organizations are 404', async () => {
  const { id } = await createOrganization(db.sql, ACTOR, { name: 'Changing', plan: 'free' });
  expect(await setPlan(db.sql, ACTOR, id, 'business')).toMatchObject({ id, plan: 'business' });
  const suspended = await suspendOrganization(db.sql, ACTOR, id);
  expect(suspended.suspended_at).not.toBeNull();
  expect((await suspendOrganization(db.sql, ACTOR, id)).suspended_at).toBe(suspended.suspended_at);
  expect((await unsuspendOrganization(db.sql, ACTOR, id)).suspended_at).toBeNull();
  expect((await auditOf(id)).map(({ action }) => action)).toEqual([
    'organization.create',
    'organization.set_plan',
    'organization.suspend',
    'organization.suspend',
    'organization.unsuspend',
  ]);
  for (const attempt of [
    () => findOrganization(db.sql, 'nobody'),
    () => setPlan(db.sql, ACTOR, 'org_none', 'free'),
    () => suspendOrganization(db.sql, ACTOR, 'org_none'),
    () => unsuspendOrganization(db.sql, ACTOR, 'org_none'),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'organization_not_found', status: 404 });
  }
});

test('the plan determines the priority of bulk jobs', () => {
  expect(BULK_PRIORITY_BY_PLAN).toEqual({ enterprise: 0, business: 1, pro: 2, paid: 2, starter: 2, free: 3 });
});
