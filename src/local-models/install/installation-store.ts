import type { Sql } from '../../platform/postgres.ts';
import type { InstallProgress } from './install-model.ts';

/** Time without a heartbeat after which the process of an installation counts as dead. */
const DEAD_MS = 60_000;
const LIST_MAX = 1_000;

export interface InstallationRow {
  readonly name: string;
  readonly source: string;
  readonly state: 'running' | 'cancelling' | 'failed';
  readonly phase: InstallProgress['phase'];
  readonly doneBytes: number;
  readonly totalBytes: number;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly startedAt: Date;
}

export async function selectInstallations(sql: Sql): Promise<InstallationRow[]> {
  return sql<InstallationRow[]>`
    SELECT name, source, state, phase, done_bytes::float8 AS "doneBytes", total_bytes::float8 AS "totalBytes",
           error_code AS "errorCode", error_message AS "errorMessage", started_at AS "startedAt"
    FROM model_installations ORDER BY started_at DESC, name LIMIT ${LIST_MAX}`;
}

/** Mark the installations whose process died as failed. */
export async function failDeadInstallations(sql: Sql, fault: { code: string; message: string }): Promise<void> {
  await sql`
    UPDATE model_installations SET state = 'failed', error_code = ${fault.code}, error_message = ${fault.message}
    WHERE state <> 'failed' AND updated_at < now() - ${DEAD_MS} * interval '1 millisecond'`;
}

interface NewInstallation {
  readonly name: string;
  readonly runId: string;
  readonly source: string;
  readonly totalBytes: number;
  readonly startedBy: string;
}

/**
 * Record a new installation, replacing a failed one of the same name.
 * @returns null, or the name of a model whose installation is already running; nothing is then recorded
 */
export async function beginInstallation(tx: Sql, fresh: NewInstallation): Promise<string | null> {
  const { name, runId, source, totalBytes, startedBy } = fresh;
  await tx`LOCK TABLE model_installations IN SHARE ROW EXCLUSIVE MODE`;
  const [running] = await tx`SELECT name FROM model_installations WHERE state <> 'failed' LIMIT 1`;
  if (running) return running['name'];
  await tx`DELETE FROM model_installations WHERE name = ${name}`;
  await tx`
    INSERT INTO model_installations (name, run_id, source, state, total_bytes, started_by)
    VALUES (${name}, ${runId}, ${source}, 'running', ${totalBytes}, ${startedBy})`;
  return null;
}

/** Write the progress of an installation. @returns false if it was cancelled or counts as dead */
export async function recordProgress(sql: Sql, runId: string, progress: InstallProgress): Promise<boolean> {
  const { phase, doneBytes, totalBytes } = progress;
  const rows = await sql`
    UPDATE model_installations
    SET phase = ${phase}, done_bytes = ${doneBytes}, total_bytes = ${totalBytes}, updated_at = now()
    WHERE run_id = ${runId} AND state <> 'failed' RETURNING state`;
  return rows[0]?.['state'] === 'running';
}

export async function recordFailure(sql: Sql, runId: string, fault: { code: string; message: string }): Promise<void> {
  await sql`
    UPDATE model_installations
    SET state = 'failed', error_code = ${fault.code}, error_message = ${fault.message}, updated_at = now()
    WHERE run_id = ${runId}`;
}

export async function deleteInstallation(sql: Sql, runId: string): Promise<void> {
  await sql`DELETE FROM model_installations WHERE run_id = ${runId}`;
}

/** Ask a running installation's process to stop, or delete a failed installation. @returns false if there is none */
export async function cancelInstallation(tx: Sql, name: string): Promise<boolean> {
  const failed = await tx`DELETE FROM model_installations WHERE name = ${name} AND state = 'failed'`;
  if (failed.count > 0) return true;
  const running = await tx`UPDATE model_installations SET state = 'cancelling' WHERE name = ${name}`;
  return running.count > 0;
}
