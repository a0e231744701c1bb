import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { MoveState, Organization } from './schema.ts';

/** Organization whose row is locked to change the state of its move. */
export interface MovingOrganization extends Pick<Organization, 'id' | 'name' | 'plan'> {
  readonly state: MoveState | null;
  /** Id of the export that the state belongs to; null without a state. */
  readonly moveId: string | null;
  readonly suspendedAt: Date | null;
}

/**
 * Lock an organization until the transaction ends. Unlike its other locks, this one waits for transactions that have
 * inserted rows of the organization, and blocks later ones.
 */
export async function lockForMove(tx: Sql, orgId: string): Promise<MovingOrganization | null> {
  const [organization] = await tx<MovingOrganization[]>`
    SELECT id, name, plan, move_state AS state, move_id AS "moveId", suspended_at AS "suspendedAt"
    FROM organizations WHERE id = ${orgId} FOR UPDATE`;
  return organization ?? null;
}

/** Set the move state of a locked organization that is still served here. */
export async function updateMoveState(
  tx: Sql,
  orgId: string,
  move: { readonly state: 'draining' | 'moving'; readonly id: string } | null,
): Promise<void> {
  await tx`
    UPDATE organizations SET move_state = ${move?.state ?? null}, move_id = ${move?.id ?? null} WHERE id = ${orgId}`;
}

/** Stop serving a locked organization. All its credentials are then refused, as if it were suspended. */
export async function markMoved(tx: Sql, orgId: string): Promise<void> {
  await tx`
    UPDATE organizations SET move_state = 'moved', suspended_before = suspended_at,
      suspended_at = coalesce(suspended_at, now())
    WHERE id = ${orgId}`;
}

/** Resume serving a locked organization that was marked as moved. */
export async function markTakenBack(tx: Sql, orgId: string): Promise<void> {
  await tx`
    UPDATE organizations SET move_state = NULL, move_id = NULL, suspended_at = suspended_before, suspended_before = NULL
    WHERE id = ${orgId}`;
}

/** Start serving a locked organization that has arrived. */
export async function markArrived(tx: Sql, orgId: string, suspendedAt: Date | null): Promise<void> {
  await tx`
    UPDATE organizations SET move_state = NULL, move_id = NULL, suspended_at = ${suspendedAt} WHERE id = ${orgId}`;
}

/** Return the move states of organizations, by organization id. */
export async function selectMoveStates(sql: Sql): Promise<ReadonlyMap<string, MoveState>> {
  const rows = await sql<{ id: string; state: MoveState }[]>`
    SELECT id, move_state AS state FROM organizations WHERE move_state IS NOT NULL`;
  return new Map(rows.map(({ id, state }) => [id, state]));
}

/**
 * Build the condition that the organization in a column isn't being moved. PostgreSQL reads the few moving ones once
 * per statement.
 */
export function isStaying(sql: Sql, column: string): SqlFragment {
  return sql`${sql(column)} <> ALL (ARRAY(SELECT id FROM organizations WHERE move_state IS NOT NULL))`;
}
