import { storableJson } from '../platform/postgres/storable-json.ts';
import type { Sql } from '../platform/postgres.ts';
import { deleteOldAuditRows, insertAuditRow, insertAuditRows } from './audit-store.ts';

export interface AuditEntry {
  /** Organization; null for an action on the whole installation. */
  readonly orgId: string | null;
  /** Value of `caller.actor`: `key:<id>`, `user:<id>` or `operator:<os user>`. */
  readonly actor: string;
  /** Action in the form `<thing>.<verb>`: `document.delete`, `key.create`. */
  readonly action: string;
  /** Id of the changed thing. */
  readonly target: string | null;
  /** Details needed to understand the change, never a credential. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Write an audit log entry in the transaction of the change. The entry's text must never make the transaction fail. */
export async function recordAudit(sql: Sql, entry: AuditEntry): Promise<void> {
  await insertAuditRow(sql, {
    orgId: entry.orgId,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    detailJson: storableJson(entry.detail ?? {}),
  });
}

/** Write several audit log entries at once, in order. */
export async function recordAudits(sql: Sql, entries: readonly AuditEntry[]): Promise<void> {
  await insertAuditRows(sql, storableJson(entries.map((entry) => ({ detail: {}, ...entry }))));
}

/** Maximum number of entries that one statement deletes. */
const SWEPT_ROWS_MAX = 5_000;

/** Delete entries older than `ageMs`. Return their number. */
export async function sweepAuditLog(sql: Sql, ageMs: number, signal: AbortSignal): Promise<number> {
  for (let deleted = 0; ; ) {
    signal.throwIfAborted();
    const rows = await deleteOldAuditRows(sql, ageMs, SWEPT_ROWS_MAX);
    deleted += rows;
    if (rows < SWEPT_ROWS_MAX) return deleted;
  }
}
