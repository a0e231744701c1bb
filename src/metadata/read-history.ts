import { z } from 'zod';
import { selectAuditRows } from '../access/audit-store.ts';
import type { Caller } from '../access/caller.ts';
import { requireOrgAdmin } from '../access/roles.ts';
import { readsEverything } from '../documents/visibility.ts';
import { notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { isReadable } from './store.ts';

const values = z.record(z.string(), z.unknown());

/** Change of a document from the audit log. */
export const HistoryEntry = z
  .object({
    at: z.iso.datetime(),
    actor: z.string().describe('`user:<id>`, `key:<id>` or `operator:<os user>`'),
    action: z.string().describe('`document.edit_metadata`, `document.delete`, …'),
    statement: z.string().nullable().describe('null if the request named fields instead'),
    before: values.describe(
      'values of the changed fields before the change; user metadata as `metadata.<key>`, null if it was missing',
    ),
    after: values,
    detail: values.describe('further details of the audit record'),
  })
  .meta({ id: 'DocumentChange' });
export type HistoryEntry = z.output<typeof HistoryEntry>;

/**
 * Read the changes of a document, newest first. They contain earlier values, so only administrators of the organization
 * who may read the document may read them. A deleted document has no level or department, so only administrators who
 * may read everything see its changes.
 *
 * @throws AppError `role_missing` (403); `document_not_found` (404) for a document that the caller may not read, that
 *   never existed, or that is deleted and has no audit records left
 */
export async function readHistory(
  sql: Sql,
  caller: Caller,
  documentId: string,
  rowsMax: number,
): Promise<HistoryEntry[]> {
  requireOrgAdmin(caller);
  const isThere = await isReadable(sql, caller, documentId);
  if (!isThere && !readsEverything(caller)) throw notFound('document', documentId);
  const rows = await selectAuditRows(sql, caller.orgId, documentId, rowsMax);
  if (rows.length === 0 && !isThere) throw notFound('document', documentId);
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
