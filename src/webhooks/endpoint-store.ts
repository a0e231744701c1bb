import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { WebhookView } from './schema.ts';

/** Columns of a `WebhookView`. */
function columns(sql: Sql): SqlFragment {
  return sql`
    id, name, url, events, disabled_at IS NULL AS enabled, disabled_reason, failing_since, paused_until AS next_try_at,
    previous_until AS previous_secret_until, created_at, updated_at`;
}

const toView = withIsoTimes<WebhookView>;

/** Encrypted secrets of an endpoint. */
export interface SealedSecrets {
  readonly sealedSecret: Buffer;
  /** Previous secret during the overlap of a rotation; otherwise null. */
  readonly sealedPrevious: Buffer | null;
}

/** Insert an endpoint. Return null if the organization already has one of this name. */
export async function insertEndpoint(
  tx: Sql,
  orgId: string,
  endpoint: Pick<WebhookView, 'id' | 'name' | 'url' | 'events'> & { readonly sealedSecret: Buffer },
): Promise<WebhookView | null> {
  const { id, name, url, events, sealedSecret } = endpoint;
  const [row] = await tx`
    INSERT INTO webhook_endpoints (id, org_id, name, url, events, sealed_secret)
    VALUES (${id}, ${orgId}, ${name}, ${url}, ${tx.array(events)}::text[], ${sealedSecret})
    ON CONFLICT (org_id, name) DO NOTHING RETURNING ${columns(tx)}`;
  return row ? toView(row) : null;
}

/** List the endpoints of an organization by name. */
export async function selectEndpoints(sql: Sql, orgId: string): Promise<WebhookView[]> {
  const rows = await sql`SELECT ${columns(sql)} FROM webhook_endpoints WHERE org_id = ${orgId} ORDER BY name`;
  return rows.map(toView);
}

/** Return an endpoint by id or name, or null. */
export async function selectEndpoint(sql: Sql, orgId: string, ref: string): Promise<WebhookView | null> {
  const [row] = await sql`
    SELECT ${columns(sql)} FROM webhook_endpoints WHERE org_id = ${orgId} AND (id = ${ref} OR name = ${ref})`;
  return row ? toView(row) : null;
}

/** Return true if another endpoint of the organization has this name. */
export async function isNameTaken(sql: Sql, orgId: string, name: string, exceptId: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM webhook_endpoints WHERE org_id = ${orgId} AND name = ${name} AND id <> ${exceptId}`;
  return rows.length > 0;
}

/** Update an endpoint. A new URL ends its pause. Return null if the endpoint is deleted. */
export async function updateEndpoint(
  tx: Sql,
  orgId: string,
  endpoint: Pick<WebhookView, 'id' | 'name' | 'url' | 'events'>,
): Promise<WebhookView | null> {
  const { id, name, url, events } = endpoint;
  const [row] = await tx`
    UPDATE webhook_endpoints
    SET name = ${name}, events = ${tx.array(events)}::text[], updated_at = now(),
        paused_until = CASE WHEN url = ${url} THEN paused_until END,
        failing_since = CASE WHEN url = ${url} THEN failing_since END, url = ${url}
    WHERE org_id = ${orgId} AND id = ${id} RETURNING ${columns(tx)}`;
  return row ? toView(row) : null;
}

/** Enable an endpoint. */
export async function enableEndpoint(tx: Sql, orgId: string, id: string): Promise<void> {
  await tx`
    UPDATE webhook_endpoints
    SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, paused_until = NULL,
        updated_at = now()
    WHERE org_id = ${orgId} AND id = ${id}`;
}

/** Disable an endpoint. Return false if it was already disabled. */
export async function disableEndpoint(tx: Sql, orgId: string, id: string, reason: string): Promise<boolean> {
  const rows = await tx`
    UPDATE webhook_endpoints
    SET disabled_at = clock_timestamp(), disabled_reason = ${reason}, paused_until = NULL, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${id} AND disabled_at IS NULL RETURNING 1`;
  return rows.length > 0;
}

/** Delete an endpoint and its deliveries. */
export async function deleteEndpoint(tx: Sql, orgId: string, id: string): Promise<boolean> {
  const rows = await tx`DELETE FROM webhook_endpoints WHERE org_id = ${orgId} AND id = ${id} RETURNING 1`;
  return rows.length > 0;
}

/** Replace the secret of an endpoint. The old secret keeps signing events for `overlapMs`. */
export async function rotateSecret(
  tx: Sql,
  orgId: string,
  { id, sealedSecret, overlapMs }: { readonly id: string; readonly sealedSecret: Buffer; readonly overlapMs: number },
): Promise<WebhookView | null> {
  const [row] = await tx`
    UPDATE webhook_endpoints
    SET sealed_previous = CASE WHEN ${overlapMs}::float8 > 0 THEN sealed_secret END, sealed_secret = ${sealedSecret},
        previous_until = CASE WHEN ${overlapMs}::float8 > 0
                              THEN clock_timestamp() + ${overlapMs}::float8 * interval '1 millisecond' END,
        updated_at = now()
    WHERE org_id = ${orgId} AND id = ${id} RETURNING ${columns(tx)}`;
  return row ? toView(row) : null;
}

/** Delete the previous secrets of all organizations whose overlap has ended. */
export async function deletePreviousSecrets(sql: Sql): Promise<void> {
  await sql`
    UPDATE webhook_endpoints SET sealed_previous = NULL, previous_until = NULL
    WHERE previous_until <= clock_timestamp()`;
}

/** Endpoint that may receive events now. */
export interface SendableEndpoint extends SealedSecrets {
  readonly id: string;
  readonly orgId: string;
  readonly url: string;
  /** Time since the first failure after the last success; null if the last attempt succeeded. */
  readonly failingMs: number | null;
}

/** Endpoint with due events. */
export type DueEndpoint = Pick<SendableEndpoint, 'id' | 'orgId'>;

/**
 * List endpoints of all organizations with due events, except those of suspended organizations. Organizations take
 * turns: the first endpoint of each comes before the second of any.
 * @param options.except ids of endpoints to leave out
 * @param options.perOrganization maximum number of endpoints of one organization
 */
export async function selectDueEndpoints(
  sql: Sql,
  options: { readonly except: readonly string[]; readonly perOrganization: number; readonly rowsMax: number },
): Promise<DueEndpoint[]> {
  const { except, perOrganization, rowsMax } = options;
  return sql<DueEndpoint[]>`
    SELECT id, org_id AS "orgId" FROM (
      SELECT e.id, e.org_id, row_number() OVER (PARTITION BY e.org_id ORDER BY random()) AS turn
      FROM webhook_endpoints e JOIN organizations o ON o.id = e.org_id AND o.suspended_at IS NULL
      WHERE e.disabled_at IS NULL AND (e.paused_until IS NULL OR e.paused_until <= clock_timestamp())
        AND e.id <> ALL(${sql.array([...except])}::text[])
        AND EXISTS (SELECT 1 FROM webhook_deliveries d
                    WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.next_at <= clock_timestamp())) AS due
    WHERE turn <= ${perOrganization} ORDER BY turn, random() LIMIT ${rowsMax}`;
}

/** Read an endpoint of any organization. Return null if it may not receive events now. */
export async function selectSendable(sql: Sql, id: string): Promise<SendableEndpoint | null> {
  const [endpoint] = await sql<SendableEndpoint[]>`
    SELECT e.id, e.org_id AS "orgId", e.url, e.sealed_secret AS "sealedSecret",
           extract(epoch FROM clock_timestamp() - e.failing_since)::float8 * 1000 AS "failingMs",
           CASE WHEN e.previous_until > clock_timestamp() THEN e.sealed_previous END AS "sealedPrevious"
    FROM webhook_endpoints e JOIN organizations o ON o.id = e.org_id AND o.suspended_at IS NULL
    WHERE e.id = ${id} AND e.disabled_at IS NULL AND (e.paused_until IS NULL OR e.paused_until <= clock_timestamp())`;
  return endpoint ?? null;
}

/** Record a success, which ends an endpoint's failing state. */
export async function recordWorking(sql: Sql, { orgId, id }: Pick<SendableEndpoint, 'orgId' | 'id'>): Promise<void> {
  await sql`
    UPDATE webhook_endpoints SET failing_since = NULL, paused_until = NULL
    WHERE org_id = ${orgId} AND id = ${id} AND failing_since IS NOT NULL`;
}

/**
 * Record a failed attempt.
 * @param pauseMs time to send nothing to the endpoint; null if only this event failed
 */
export async function recordFailing(
  sql: Sql,
  { orgId, id }: Pick<SendableEndpoint, 'orgId' | 'id'>,
  pauseMs: number | null,
): Promise<void> {
  await sql`
    UPDATE webhook_endpoints
    SET failing_since = coalesce(failing_since, clock_timestamp()),
        paused_until = coalesce(clock_timestamp() + ${pauseMs}::float8 * interval '1 millisecond', paused_until)
    WHERE org_id = ${orgId} AND id = ${id} AND disabled_at IS NULL`;
}
