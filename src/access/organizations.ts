import { conflict, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { recordAudit } from './audit.ts';
import type { Caller, Plan } from './caller.ts';
import { parseInput } from './input.ts';
import {
  insertOrganization,
  selectOrganization,
  selectOrganizations,
  updateOrganizationSuspension,
  updatePlan,
} from './organization-store.ts';
import { type MoveState, NewOrganization, type Organization } from './schema.ts';

/**
 * @param actor name of the operator in the audit log; only operators manage organizations
 * @throws AppError `invalid_request` (400), `organization_exists` (409)
 */
export async function createOrganization(sql: Sql, actor: string, input: NewOrganization): Promise<Organization> {
  const { name, plan } = parseInput(NewOrganization, input);
  return inTransaction(sql, async (tx) => {
    const organization = await insertOrganization(tx, { id: newId('org'), name, plan });
    if (!organization)
      throw conflict(`an organization named ${name} already exists; choose another name`, 'organization_exists');
    const { id } = organization;
    await recordAudit(tx, { orgId: id, actor, action: 'organization.create', target: id, detail: { name, plan } });
    return organization;
  });
}

/** List organizations, newest first: a page, or the newest `LIST_ROWS_MAX`. */
export async function listOrganizations(
  sql: Sql,
  page?: { limit: number; after?: string | undefined },
): Promise<Organization[]> {
  return selectOrganizations(sql, page);
}

/** @throws AppError `organization_not_found` (404) */
export async function findOrganization(sql: Sql, idOrName: string): Promise<Organization> {
  const organization = await selectOrganization(sql, idOrName);
  if (!organization) throw notFound('organization', idOrName);
  return organization;
}

/** @throws AppError `organization_not_found` (404), `organization_moves` (409) */
export async function setPlan(sql: Sql, actor: string, orgId: string, plan: Plan): Promise<Organization> {
  return inTransaction(sql, async (tx) => {
    await requireUnmoved(tx, orgId, ['draining', 'moving', 'moved', 'arriving']);
    const organization = await updatePlan(tx, orgId, plan);
    if (!organization) throw notFound('organization', orgId);
    await recordAudit(tx, { orgId, actor, action: 'organization.set_plan', target: orgId, detail: { plan } });
    return organization;
  });
}

/**
 * Suspend an organization. Its credentials are refused within 1 s.
 *
 * @throws AppError `organization_not_found` (404), `organization_moves` (409)
 */
export async function suspendOrganization(sql: Sql, actor: string, orgId: string): Promise<Organization> {
  return setSuspension(sql, actor, orgId, true);
}

/** @throws AppError `organization_not_found` (404), `organization_moves` (409) */
export async function unsuspendOrganization(sql: Sql, actor: string, orgId: string): Promise<Organization> {
  return setSuspension(sql, actor, orgId, false);
}

/** Refuse to change an organization whose move is in one of these states. */
async function requireUnmoved(sql: Sql, orgId: string, states: readonly MoveState[]): Promise<void> {
  const organization = await selectOrganization(sql, orgId);
  const state = organization?.move_state ?? null;
  if (organization === null || state === null || !states.includes(state)) return;
  throw conflict(
    `${organization.name} moves between two installations (${state}); finish or cancel its move first`,
    'organization_moves',
  );
}

async function setSuspension(sql: Sql, actor: string, orgId: string, suspended: boolean): Promise<Organization> {
  return inTransaction(sql, async (tx) => {
    await requireUnmoved(tx, orgId, ['moved', 'arriving']);
    const organization = await updateOrganizationSuspension(tx, orgId, suspended);
    if (!organization) throw notFound('organization', orgId);
    const action = suspended ? 'organization.suspend' : 'organization.unsuspend';
    await recordAudit(tx, { orgId, actor, action, target: orgId });
    return organization;
  });
}

/**
 * Change the plan or the suspension of an organization, as a caller with `platform_admin`.
 *
 * @throws AppError `organization_not_found` (404), `own_organization`, `organization_moves` (409)
 */
export async function editOrganization(
  sql: Sql,
  by: Pick<Caller, 'orgId' | 'actor'>,
  orgId: string,
  { plan, suspended }: { plan?: Plan | undefined; suspended?: boolean | undefined },
): Promise<Organization> {
  if (suspended === true && orgId === by.orgId) {
    throw conflict('you cannot suspend your own organization; "service orgs suspend" can', 'own_organization');
  }
  return inTransaction(sql, async (tx) => {
    if (plan !== undefined) await setPlan(tx, by.actor, orgId, plan);
    if (suspended !== undefined) await setSuspension(tx, by.actor, orgId, suspended);
    return findOrganization(tx, orgId);
  });
}
