import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isPidInUse } from '../platform/pid-in-use.ts';
import type { Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';
import { isInProgress } from './state-store.ts';

/**
 * Identify the host, boot and pid namespace of this process, since two containers may share a host name. Only within
 * all three does a pid identify a live process.
 */
export function processHost(): string {
  const parts = [hostname()];
  for (const read of [
    () => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    () => readlinkSync('/proc/self/ns/pid'),
  ]) {
    try {
      parts.push(read());
    } catch {
      parts.push('-');
    }
  }
  return `${parts[0]}/${createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16)}`;
}

export interface WorkerRecord {
  readonly id: string;
  readonly kind: JobKind;
  readonly host: string;
  readonly pid: number;
}

/** Register a worker, or update its heartbeat. */
export async function touchWorker(sql: Sql, worker: WorkerRecord): Promise<void> {
  await sql`
    INSERT INTO workers (id, kind, host, pid) VALUES (${worker.id}, ${worker.kind}, ${worker.host}, ${worker.pid})
    ON CONFLICT (id) DO UPDATE SET seen_at = now()`;
}

export async function removeWorker(sql: Sql, workerId: string): Promise<void> {
  await sql`DELETE FROM workers WHERE id = ${workerId}`;
}

/** Count the workers of a kind with a heartbeat within `withinMs`. */
export async function countLiveWorkers(sql: Sql, kind: JobKind, withinMs: number): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS n FROM workers
    WHERE kind = ${kind} AND seen_at > now() - ${withinMs} * interval '1 millisecond'`;
  return row?.['n'] as number;
}

/**
 * Expire the leases of this host's dead workers now, and remove the workers. A wrong decision is safe: the fence keeps
 * a live worker from writing.
 */
export async function expireDeadWorkers(sql: Sql, host: string): Promise<number> {
  const rows = await sql`SELECT id, pid FROM workers WHERE host = ${host} AND pid <> ${process.pid}`;
  const dead = rows.filter((row) => !isPidInUse(row['pid'] as number)).map((row) => row['id'] as string);
  if (dead.length === 0) return 0;
  // Skip locked rows, since other processes may do the same.
  await sql`
    UPDATE jobs SET lease_expires_at = now() - interval '1 millisecond'
    WHERE id IN (SELECT id FROM jobs
                 WHERE worker_id = ANY(${sql.array(dead)}::text[])
                   AND ${isInProgress(sql)} FOR UPDATE SKIP LOCKED)`;
  await sql`
    DELETE FROM workers
    WHERE id IN (SELECT id FROM workers WHERE id = ANY(${sql.array(dead)}::text[]) FOR UPDATE SKIP LOCKED)`;
  return dead.length;
}

/** Remove workers that have had no heartbeat for a day. */
export async function forgetOldWorkers(sql: Sql): Promise<void> {
  await sql`DELETE FROM workers WHERE seen_at < now() - interval '1 day'`;
}
