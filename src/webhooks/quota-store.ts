import type { Plan } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Axis } from '../usage/schema.ts';

/** Monthly usage of an organization on one axis, with an endpoint to notify. */
export interface QuotaUser {
  readonly endpointId: string;
  readonly orgId: string;
  readonly plan: Plan;
  readonly axis: Axis;
  /** First day of the month, `YYYY-MM-DD`. */
  readonly month: string;
  readonly used: number;
}

/** Select the monthly usage of organizations that have an enabled endpoint for an event type. */
export async function selectQuotaUsers(
  sql: Sql,
  month: string,
  eventType: string,
  rowsMax: number,
): Promise<QuotaUser[]> {
  return sql<QuotaUser[]>`
    SELECT e.id AS "endpointId", e.org_id AS "orgId", o.plan, c.axis, to_char(c.month, 'YYYY-MM-DD') AS month, c.used
    FROM webhook_endpoints e
    JOIN organizations o ON o.id = e.org_id
    JOIN usage_counters c ON c.org_id = e.org_id AND c.month = ${month}::date
    WHERE e.disabled_at IS NULL AND ${eventType} = ANY (e.events)
    LIMIT ${rowsMax}`;
}
