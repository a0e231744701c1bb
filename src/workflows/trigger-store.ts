import { storableJson } from '../platform/postgres/storable-json.ts';
import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { TriggerView } from './trigger-schema.ts';

/** Columns of a `TriggerView`. */
function columns(sql: Sql): SqlFragment {
  return sql`
    id, workflow_id, kind, mode, schedule, next_start_at, bucket_id,
    CASE WHEN kind = 'webhook' THEN '/v1/workflow-triggers/' || id END AS webhook_path, actor, last_started_at,
    last_error, created_at`;
}

const toView = withIsoTimes<TriggerView>;

export type NewTriggerRow = Pick<
  TriggerView,
  'id' | 'workflow_id' | 'kind' | 'mode' | 'schedule' | 'bucket_id' | 'actor'
> & {
  readonly orgId: string;
  readonly nextStartAt: Date | null;
  readonly sealedSecret: Buffer | null;
};

export async function insertTrigger(tx: Sql, row: NewTriggerRow): Promise<TriggerView> {
  const [made] = await tx<[object]>`
    INSERT INTO workflow_triggers (id, org_id, workflow_id, kind, mode, schedule, next_start_at, bucket_id,
                                   sealed_secret, actor)
    VALUES (${row.id}, ${row.orgId}, ${row.workflow_id}, ${row.kind}, ${row.mode}, ${row.schedule}, ${row.nextStartAt},
            ${row.bucket_id}, ${row.sealedSecret}, ${row.actor})
    RETURNING ${columns(tx)}`;
  return toView(made);
}

/** List the triggers of a workflow, oldest first. */
export async function selectTriggers(sql: Sql, orgId: string, workflowId: string): Promise<TriggerView[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM workflow_triggers
    WHERE org_id = ${orgId} AND workflow_id = ${workflowId} ORDER BY created_at, id`;
  return rows.map(toView);
}

/** Lock a workflow until the transaction ends, to serialise the counting of its triggers. */
export async function lockWorkflow(tx: Sql, orgId: string, workflowId: string): Promise<boolean> {
  const rows = await tx`SELECT 1 FROM workflows WHERE org_id = ${orgId} AND id = ${workflowId} FOR UPDATE`;
  return rows.length > 0;
}

export async function deleteTrigger(tx: Sql, orgId: string, workflowId: string, id: string): Promise<boolean> {
  const rows = await tx`
    DELETE FROM workflow_triggers WHERE org_id = ${orgId} AND workflow_id = ${workflowId} AND id = ${id} RETURNING 1`;
  return rows.length > 0;
}

/** Find the secret of a trigger by id alone; null if it has none or its organization is suspended. */
export async function selectSecret(sql: Sql, id: string): Promise<{ orgId: string; sealedSecret: Buffer } | null> {
  const [row] = await sql<{ orgId: string; sealedSecret: Buffer }[]>`
    SELECT t.org_id AS "orgId", t.sealed_secret AS "sealedSecret"
    FROM workflow_triggers t JOIN organizations o ON o.id = t.org_id AND o.suspended_at IS NULL
    WHERE t.id = ${id} AND t.sealed_secret IS NOT NULL`;
  return row ?? null;
}

/** Start of a workflow, waiting for a process. */
export interface NewStart {
  readonly triggerId: string;
  readonly orgId: string;
  /** Idempotency key: each key starts the workflow of a trigger once. */
  readonly key: string;
  readonly event: object;
}

/** Insert a start. Return false if the trigger already had one with this key. */
export async function insertStart(sql: Sql, { triggerId, orgId, key, event }: NewStart): Promise<boolean> {
  const rows = await sql`
    INSERT INTO workflow_starts (trigger_id, key, org_id, event)
    VALUES (${triggerId}, ${key}, ${orgId}, ${storableJson(event)}::text::jsonb)
    ON CONFLICT DO NOTHING RETURNING 1`;
  return rows.length > 0;
}

/** Due schedule, locked until the transaction ends. */
export interface DueSchedule {
  readonly id: string;
  readonly orgId: string;
  readonly schedule: string;
  readonly dueAt: Date;
}

/** Lock due schedules, across all organizations. Skip those locked by another process. */
export async function lockDueSchedules(tx: Sql, rowsMax: number): Promise<DueSchedule[]> {
  return tx<DueSchedule[]>`
    SELECT t.id, t.org_id AS "orgId", t.schedule, t.next_start_at AS "dueAt"
    FROM workflow_triggers t JOIN organizations o ON o.id = t.org_id AND o.suspended_at IS NULL
    WHERE t.next_start_at <= now() AND o.move_state IS NULL ORDER BY t.next_start_at LIMIT ${rowsMax} FOR UPDATE OF t SKIP LOCKED`;
}

export async function updateNextStart(tx: Sql, { orgId, id }: DueSchedule, at: Date | null): Promise<void> {
  await tx`UPDATE workflow_triggers SET next_start_at = ${at} WHERE org_id = ${orgId} AND id = ${id}`;
}

/** Start claimed by a process, with its trigger. */
export interface HeldStart extends NewStart {
  readonly workflowId: string;
  readonly kind: TriggerView['kind'];
  readonly mode: TriggerView['mode'];
  readonly actor: string;
  /** Number of the claim, which fences off a slow process. */
  readonly tries: number;
}

/**
 * Claim a due start for `leaseMs`, across all organizations. Each organization with due starts is as likely as any
 * other, however many it has. Starts of suspended organizations wait.
 * @param except organizations to leave out
 * @returns null if there is none, or if other processes have just claimed those of the chosen organization
 */
export async function claimStart(sql: Sql, except: readonly string[], leaseMs: number): Promise<HeldStart | null> {
  const [held] = await sql<HeldStart[]>`
    WITH chosen AS MATERIALIZED (
      SELECT o.id FROM organizations o
      WHERE o.suspended_at IS NULL AND o.move_state IS NULL AND o.id <> ALL(${sql.array([...except])}::text[])
        AND o.id IN (SELECT org_id FROM workflow_starts WHERE next_at <= clock_timestamp())
      ORDER BY random() LIMIT 1
    )
    UPDATE workflow_starts s
    SET tries = s.tries + 1, next_at = clock_timestamp() + ${leaseMs}::float8 * interval '1 millisecond'
    FROM (
      SELECT due.trigger_id, due.key, t.workflow_id, t.kind, t.mode, t.actor
      FROM workflow_starts due JOIN workflow_triggers t ON t.id = due.trigger_id
      WHERE due.next_at <= clock_timestamp() AND due.org_id IN (SELECT id FROM chosen)
      ORDER BY due.next_at LIMIT 1 FOR UPDATE OF due SKIP LOCKED
    ) AS claimed
    WHERE s.trigger_id = claimed.trigger_id AND s.key = claimed.key
    RETURNING s.trigger_id AS "triggerId", s.key, s.org_id AS "orgId", s.event, s.tries,
              claimed.workflow_id AS "workflowId", claimed.kind, claimed.mode, claimed.actor`;
  return held ?? null;
}

/** Record that a start is done. @param error reason why no run was created; null for a run */
export async function finishStart(sql: Sql, held: HeldStart, error: string | null): Promise<void> {
  const { orgId, triggerId, key, tries } = held;
  await sql`
    WITH over AS (
      UPDATE workflow_starts SET next_at = NULL
      WHERE org_id = ${orgId} AND trigger_id = ${triggerId} AND key = ${key} AND tries = ${tries} RETURNING 1
    )
    UPDATE workflow_triggers
    SET last_error = ${error}, last_started_at = CASE WHEN ${error === null} THEN now() ELSE last_started_at END
    WHERE org_id = ${orgId} AND id = ${triggerId} AND EXISTS (SELECT 1 FROM over)`;
}

/** Schedule a retry of a start after `waitMs`. */
export async function postponeStart(
  sql: Sql,
  { orgId, triggerId, key, tries }: HeldStart,
  waitMs: number,
): Promise<void> {
  await sql`
    UPDATE workflow_starts SET next_at = clock_timestamp() + ${waitMs}::float8 * interval '1 millisecond'
    WHERE org_id = ${orgId} AND trigger_id = ${triggerId} AND key = ${key} AND tries = ${tries}`;
}

/**
 * Delete old starts of schedules, requests and removed documents, across all organizations. Keep those of other
 * documents, so that no document starts a workflow twice.
 */
export async function deleteOldStarts(sql: Sql, ageMs: number): Promise<void> {
  await sql`
    DELETE FROM workflow_starts s USING workflow_triggers t
    WHERE t.id = s.trigger_id AND s.next_at IS NULL
      AND s.created_at < now() - ${ageMs}::float8 * interval '1 millisecond'
      AND (t.kind <> 'document' OR NOT EXISTS (SELECT 1 FROM documents WHERE documents.id = s.key))`;
}
