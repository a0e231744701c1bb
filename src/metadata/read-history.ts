import { selectAuditRows } from '../access/audit-store.ts';
import type { Caller } from '../access/caller.ts';
import { requireOrgAdmin } from '../access/roles.ts';
import { notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { documentExists } from './store.ts';

/** One change of a document, as the audit log has it. */
export interface HistoryEntry {
  readonly at: string;
  /** `user:<id>`, `key:<id>` or `operator:<os user>`. */
  readonly actor: string;
  /** `document.edit_metadata`, `document.delete`, … */
  readonly action: string;
  /** As it was written; null where the change was asked for by fields. */
  readonly statement: string | null;
  /** What the change touched, as it was; user metadata as `metadata.<key>`, null where it was missing. */
  readonly before: Readonly<Record<string, unknown>>;
  readonly after: Readonly<Record<string, unknown>>;
  /** What else the entry tells. */
  readonly detail: Readonly<Record<string, unknown>>;
}

/**
 * Changes of a document, newest first; also of one that is gone. They hold values whatever the document's privacy
 * level is, so they are for the organization's administrators.
 *
 * @throws AppError `role_missing` (403); `document_not_found` (404) for a document that never was, or of which nothing
 *   is told any more
 */
export async function readHistory(
  sql: Sql,
  caller: Caller,
  documentId: string,
  rowsMax: number,
): Promise<HistoryEntry[]> {
  requireOrgAdmin(caller);
  const rows = await selectAuditRows(sql, caller.orgId, documentId, rowsMax);
  if (rows.length === 0 && !(await documentExists(sql, caller.orgId, documentId))) {
    throw notFound('document', documentId);
  }
  return rows.map(({ at, actor, action, detail: { statement, before, after, ...detail } }) => ({
    at: at.toISOString(),
    actor,
    action,
    statement: typeof statement === 'string' ? statement : null,
    before: asRecord(before),
    after: asRecord(after),
    detail,
  }));
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
