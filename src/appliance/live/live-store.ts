import type { Caller } from '../../access/caller.ts';
import { readableBy, readsEverything, sourceVisibleTo } from '../../documents/visibility.ts';
import type { Sql } from '../../platform/postgres.ts';

/** Time after which transactions with earlier audit entries should have ended. */
const SETTLE_SECONDS = 20;

/** Return the id of the newest audit log entry. */
export async function selectLastAuditId(sql: Sql): Promise<number> {
  const [row] = await sql`SELECT coalesce(max(id), 0)::float8 AS id FROM audit_log`;
  return (row?.['id'] as number | undefined) ?? 0;
}

/** Change of a document that the caller may read. */
export interface DocumentChange {
  /** Id of the audit log entry. */
  readonly entry: number;
  /** True if no entry with a smaller id can appear. */
  readonly isSettled: boolean;
  readonly documentId: string;
  /** Bucket, or null for a deleted document. */
  readonly bucketId: string | null;
}

/**
 * List changes of documents after an audit log entry. A deleted document has no level or department, so only callers
 * who may read everything see its removal.
 */
export async function selectDocumentChanges(
  sql: Sql,
  caller: Caller,
  afterEntry: number,
  rowsMax: number,
): Promise<DocumentChange[]> {
  return sql<DocumentChange[]>`
    SELECT a.id::float8 AS entry, a.target AS "documentId", documents.bucket_id AS "bucketId",
           a.at < now() - ${SETTLE_SECONDS} * interval '1 second' AS "isSettled"
    FROM audit_log a
    LEFT JOIN documents ON documents.org_id = a.org_id AND documents.id = a.target AND ${readableBy(sql, caller)}
    WHERE a.org_id = ${caller.orgId} AND a.id > ${afterEntry} AND a.action LIKE 'document.%' AND a.target IS NOT NULL
      ${readsEverything(caller) ? sql`` : sql`AND documents.id IS NOT NULL`}
    ORDER BY a.id LIMIT ${rowsMax}`;
}

/** List the states of the sources that the caller may see. */
export async function selectSourceStates(
  sql: Sql,
  caller: Caller,
  rowsMax: number,
): Promise<{ id: string; state: string; changedAt: string }[]> {
  const rows = await sql`
    SELECT id, sync_state, updated_at FROM sources WHERE ${sourceVisibleTo(sql, caller)} ORDER BY id LIMIT ${rowsMax}`;
  return rows.map((row) => ({
    id: row['id'] as string,
    state: row['sync_state'] as string,
    changedAt: (row['updated_at'] as Date).toISOString(),
  }));
}
