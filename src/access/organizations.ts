import { conflict, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { recordAudit } from './audit.ts';
import type { Plan } from './caller.ts';
import { parseInput } from './input.ts';
import {
  insertOrganization,
  selectOrganization,
  selectOrganizations,
  updateOrganizationSuspension,
  updatePlan,
} from './organization-store.ts';
import { NewOrganization, type Organization } from './schema.ts';

/**
 * @param actor name in the audit log of the operator, who alone manages organizations
 * @throws AppError `invalid_request` (400), `organization_exists` (409)
 */
export async function createOrganization(sql: Sql, actor: string, input: NewOrganization): Promise<Organization> {
  const { name, plan } = parseInput(NewOrganization, input);
  return inTransaction(sql, async (tx) => {
    const organization = await insertOrganization(tx, { id: newId('org'), name, plan });
    if (!organization)
      throw conflict(`there is already an organization named ${name}; choose another name`, 'organization_exists');
    const { id } = organization;
    await recordAudit(tx, { orgId: id, actor, action: 'organization.create', target: id, detail: { name, plan } });
    return organization;
  });
}

/** List the newest `LIST_ROWS_MAX` organizations, newest first. */
export async function listOrganizations(sql: Sql): Promise<Organization[]> {
  return selectOrganizations(sql);
}

/** @throws AppError `organization_not_found` (404) */
export async function findOrganization(sql: Sql, idOrName: string): Promise<Organization> {
  const organization = await selectOrganization(sql, idOrName);
  if (!organization) throw notFound('organization', idOrName);
  return organization;
}

/** @throws AppError `organization_not_found` (404) */
export async function setPlan(sql: Sql, actor: string, orgId: string, plan: Plan): Promise<Organization> {
  return inTransaction(sql, async (tx) => {
    const organization = await updatePlan(tx, orgId, plan);
    if (!organization) throw notFound('organization', orgId);
    await recordAudit(tx, { orgId, actor, action: 'organization.set_plan', target: orgId, detail: { plan } });
    return organization;
  });
}

/**
 * Suspend an organization; all its credentials are refused within 1 s.
 *
 * @throws AppError `organization_not_found` (404)
 */
export async function suspendOrganization(sql: Sql, actor: string, orgId: string): Promise<Organization> {
  return setSuspension(sql, actor, orgId, true);
}

/** @throws AppError `organization_not_found` (404) */
export async function unsuspendOrganization(sql: Sql, actor: string, orgId: string): Promise<Organization> {
  return setSuspension(sql, actor, orgId, false);
}

async function setSuspension(sql: Sql, actor: string, orgId: string, suspended: boolean): Promise<Organization> {
  return inTransaction(sql, async (tx) => {
    const organization = await updateOrganizationSuspension(tx, orgId, suspended);
    if (!organization) throw notFound('organization', orgId);
    const action = suspended ? 'organization.suspend' : 'organization.unsuspend';
    await recordAudit(tx, { orgId, actor, action, target: orgId });
    return organization;
  });
}
