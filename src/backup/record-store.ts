import type { Sql } from '../platform/postgres.ts';

/** Completed or attempted backup. */
export interface BackupRecord {
  readonly id: string;
  readonly location: string;
  readonly trigger: 'command' | 'schedule';
  /** Null if the backup is complete. */
  readonly fault: string | null;
  readonly rows: number | null;
  readonly files: number | null;
  readonly bytes: number | null;
  readonly startedAt: Date;
}

/** Number of records to keep. */
const RECORDS_MAX = 500;

/** Record a complete or failed backup, and delete the oldest records. */
export async function insertBackup(sql: Sql, backup: BackupRecord): Promise<void> {
  const { id, location, trigger, fault, rows, files, bytes, startedAt } = backup;
  await sql`
    INSERT INTO backups (id, location, trigger, fault, rows, files, bytes, started_at)
    VALUES (${id}, ${location}, ${trigger}, ${fault}, ${rows}, ${files}, ${bytes}, ${startedAt})`;
  await sql`
    DELETE FROM backups WHERE id IN (SELECT id FROM backups ORDER BY finished_at DESC OFFSET ${RECORDS_MAX})`;
}

export async function markVerified(sql: Sql, id: string): Promise<void> {
  await sql`UPDATE backups SET verified_at = now() WHERE id = ${id}`;
}

/** Record that a complete backup did not pass its verification. */
export async function markFaulty(sql: Sql, id: string, fault: string): Promise<void> {
  await sql`UPDATE backups SET fault = ${fault} WHERE id = ${id}`;
}

/** Find the newest verified backup in a location that was created before this one. */
export async function findVerifiedBefore(sql: Sql, location: string, id: string): Promise<string | null> {
  const [row] = await sql<{ id: string }[]>`
    SELECT id FROM backups WHERE location = ${location} AND id < ${id} AND verified_at IS NOT NULL
    ORDER BY id DESC LIMIT 1`;
  return row?.id ?? null;
}

/** Ages of the backups in a location; null if there is none of that kind. */
export interface BackupAges {
  /** Time since the start of the last complete backup. */
  readonly completeMs: number | null;
  /** Time since the last attempt failed; also null if a later backup was completed. */
  readonly failedMs: number | null;
  readonly fault: string | null;
}

export async function selectBackupAges(sql: Sql, location: string): Promise<BackupAges> {
  const rows = await sql<{ fault: string | null; age_ms: number }[]>`
    SELECT fault, extract(epoch FROM now() - (CASE WHEN fault IS NULL THEN started_at ELSE finished_at END))::float8 * 1000
           AS age_ms
    FROM backups WHERE location = ${location}
      AND finished_at >= coalesce((SELECT max(finished_at) FROM backups WHERE location = ${location} AND fault IS NULL),
                                  '-infinity')
    ORDER BY finished_at DESC`;
  const complete = rows.find(({ fault }) => fault === null);
  const failed = rows.find(({ fault }) => fault !== null);
  return {
    completeMs: complete?.age_ms ?? null,
    failedMs: failed?.age_ms ?? null,
    fault: failed?.fault ?? null,
  };
}

/** Read this database's unfinished restore, whose indexes are still to be built; null if there is none. */
export async function findUnfinishedRestore(sql: Sql): Promise<{ backupId: string; rebuilt: string[] } | null> {
  const [row] = await sql<{ backup_id: string; rebuilt: string[] }[]>`
    SELECT backup_id, rebuilt FROM restores WHERE finished_at IS NULL`;
  return row ? { backupId: row.backup_id, rebuilt: row.rebuilt } : null;
}

export async function markRebuilt(sql: Sql, backupId: string, bucketId: string): Promise<void> {
  await sql`UPDATE restores SET rebuilt = rebuilt || ${bucketId}::text WHERE backup_id = ${backupId}`;
}

export async function finishRestore(sql: Sql, backupId: string): Promise<void> {
  await sql`UPDATE restores SET finished_at = now() WHERE backup_id = ${backupId}`;
}
