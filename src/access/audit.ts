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
    detailJson: toStorableJson(entry.detail ?? {}),
  });
}

/** The same for many lines at once, in their order. */
export async function recordAudits(sql: Sql, entries: readonly AuditEntry[]): Promise<void> {
  await insertAuditRows(sql, toStorableJson(entries.map((entry) => ({ detail: {}, ...entry }))));
}

/** jsonb holds neither U+0000 nor half of a surrogate pair, and a change must not fail for its log line. */
function toStorableJson(value: unknown): string {
  const json = JSON.stringify(value);
  // JSON.stringify escapes both; a look at every value on its own is a cost that hardly any log line needs.
  return /\\u(?:0000|d[89a-f])/.test(json) ? JSON.stringify(value, storable) : json;
}

function storable(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\ufffd') : value;
}
