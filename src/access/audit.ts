import type { Sql } from '../platform/postgres.ts';
import { insertAuditRow, insertAuditRows } from './audit-store.ts';

export interface AuditEntry {
  /** Null for what concerns the installation as a whole. */
  readonly orgId: string | null;
  /** `caller.actor`: `key:<id>`, `user:<id>` or `operator:<os user>`. */
  readonly actor: string;
  /** `<thing>.<verb>`: `document.delete`, `key.create`. */
  readonly action: string;
  /** Id of the thing that was changed. */
  readonly target: string | null;
  /** What a reader needs to understand the change; never a credential. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** Write one line of the audit log, in the transaction that makes the change. */
export async function recordAudit(sql: Sql, entry: AuditEntry): Promise<void> {
  await insertAuditRow(sql, {
    orgId: entry.orgId,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    detailJson: JSON.stringify(entry.detail ?? {}, storable),
  });
}

/** The same for many lines at once, in their order. */
export async function recordAudits(sql: Sql, entries: readonly AuditEntry[]): Promise<void> {
  await insertAuditRows(
    sql,
    JSON.stringify(
      entries.map((entry) => ({ detail: {}, ...entry })),
      storable,
    ),
  );
}

/** jsonb holds neither U+0000 nor half of a surrogate pair, and a change must not fail for its log line. */
function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value;
}
