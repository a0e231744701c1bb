import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';

/** Build the condition that a row of `jobs` is due and has lost a lease before, so that it may kill its worker. */
function isDueSuspect(sql: Sql, kind: JobKind): SqlFragment {
  return sql`
    status = 'queued' AND kind = ${kind} AND crash_count > 0 AND (scheduled_at IS NULL OR scheduled_at <= now())`;
}

/** Return how long the oldest due suspect of a kind has been due, or null if there is none. */
export async function readSuspectWaitMs(sql: Sql, kind: JobKind): Promise<number | null> {
  const [row] = await sql`
    SELECT (extract(epoch FROM now() - min(coalesce(scheduled_at, updated_at))) * 1000)::float8 AS wait_ms
    FROM jobs WHERE ${isDueSuspect(sql, kind)}`;
  return (row?.['wait_ms'] as number | null | undefined) ?? null;
}

/**
 * Begin a worker's turn. Return false if another worker of the kind has one, or is beginning one.
 * @param aliveMs time since its last heartbeat after which another worker counts as dead
 */
export function beginSuspectTurn(sql: Sql, kind: JobKind, workerId: string, aliveMs: number): Promise<boolean> {
  return sql.begin(async (tx) => {
    const [lock] = await tx`
      SELECT pg_try_advisory_xact_lock(hashtextextended(${`suspect-turn/${kind}`}, 0)) AS is_locked`;
    if (lock?.['is_locked'] !== true) return false;
    const rows = await tx`
      UPDATE workers SET suspect_turn_at = now()
      WHERE id = ${workerId} AND NOT EXISTS (
        SELECT 1 FROM workers AS other
        WHERE other.kind = ${kind} AND other.id <> ${workerId} AND other.suspect_turn_at IS NOT NULL
          AND other.seen_at > now() - ${aliveMs} * interval '1 millisecond')
      RETURNING 1`;
    return rows.length === 1;
  });
}

export async function endSuspectTurn(sql: Sql, workerId: string): Promise<void> {
  await sql`UPDATE workers SET suspect_turn_at = NULL WHERE id = ${workerId}`;
}
