import type { ReadableFields } from '../../documents/visibility.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { FilteredFields } from '../filter/match-filter.ts';
import { isSearched } from './document-store.ts';
import { type Snapshot, type SnapshotRow, snapshotColumns, toSnapshot } from './snapshot.ts';

/** Document facts that decide who may find a document, or that results show. */
export interface SearchedDocument extends ReadableFields, FilteredFields {
  readonly id: string;
  readonly active_generation: number;
  readonly keyword_only: boolean;
  readonly collection_id: string | null;
  readonly file_name: string;
  readonly classification: string;
}

/** Changes of a bucket's documents since a snapshot. */
export interface DocumentChanges {
  /** Snapshot that includes the changes. */
  readonly snapshot: Snapshot;
  /** Transaction id from which changes are complete; earlier ones may be missing. */
  readonly keptFrom: number;
  /**
   * Facts of the changed documents, by id; null for a document that searches no longer find. The whole map is null if
   * there are too many changes for one read.
   */
  readonly changed: readonly (readonly [string, SearchedDocument | null])[] | null;
}

/** Number of documents per page. */
const PAGE = 1_000;
/** Maximum number of changes that a search reads. A document that changed twice counts twice. */
const CHANGES_MAX = 1_000;
/** Minimum retention of changes; they are kept up to twice as long. */
const KEPT = '10 minutes';
const ONE_SNAPSHOT = 'isolation level repeatable read read only';

/**
 * Build an expression for a bucket's changes since a snapshot, as one statement sees them. Parse its value with
 * `toChanges`.
 *
 * @param bucketId column of the surrounding query
 */
export function changesSince(sql: Sql, bucketId: SqlFragment, { xmax, inProgress }: Snapshot): SqlFragment {
  const xids = sql.array(inProgress.map(String));
  return sql`document_changes_since(${bucketId}, ${String(xmax)}::text::xid8, ${xids}::text[]::xid8[], ${CHANGES_MAX})`;
}

/** Parse a value of `changesSince`. */
export function toChanges(value: unknown): DocumentChanges {
  const row = value as SnapshotRow & { kept_from: string; changed: DocumentChanges['changed'] };
  return { snapshot: toSnapshot(row), keptFrom: Number(row.kept_from), changed: row.changed };
}

/** Assign an id to the server's run unless it has one. This fails for a read-only role. */
async function nameServerRun(sql: Sql): Promise<void> {
  if ((await sql`SELECT 1 FROM server_run`).length > 0) return;
  await sql`INSERT INTO server_run DEFAULT VALUES ON CONFLICT DO NOTHING`;
}

/**
 * Read the facts of all searchable documents of a bucket, in pages of one snapshot. Return null if there are more than
 * `documentsMax`.
 *
 * @throws the error of postgres.js if the server's run has no id and the role may not write
 */
export async function readAllFacts(
  sql: Sql,
  orgId: string,
  bucketId: string,
  documentsMax: number,
): Promise<{ snapshot: Snapshot; documents: SearchedDocument[] } | null> {
  await nameServerRun(sql);
  return sql.begin(ONE_SNAPSHOT, async (tx) => {
    const [first] = await tx`SELECT ${snapshotColumns(tx)}`;
    const documents: SearchedDocument[] = [];
    for (let after = ''; ; ) {
      const rows = await tx`
        SELECT document_facts(documents) AS facts FROM documents
        WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND documents.id > ${after} AND ${isSearched(tx)}
        ORDER BY documents.id LIMIT ${PAGE}`;
      for (const row of rows) documents.push(row['facts'] as SearchedDocument);
      if (documents.length > documentsMax) return null;
      if (rows.length < PAGE) return { snapshot: toSnapshot(first as unknown as SnapshotRow), documents };
      after = (documents.at(-1) as SearchedDocument).id;
    }
  });
}

/**
 * Delete changes that were recorded at least ten minutes ago in transactions that had ended by then. After a restore
 * from another server, recorded transaction ids may exceed all ids of this server. Delete those changes too.
 */
export async function removeOldChanges(sql: Sql): Promise<void> {
  await sql`
    WITH moved AS (
      UPDATE document_change_log SET moved_at = now(), next_kept_from = pg_snapshot_xmin(pg_current_snapshot()),
        kept_from = least(next_kept_from, pg_snapshot_xmin(pg_current_snapshot()))
      WHERE moved_at < now() - ${KEPT}::interval
      RETURNING kept_from)
    DELETE FROM document_changes USING moved
    WHERE changed_in < moved.kept_from OR changed_in > pg_snapshot_xmax(pg_current_snapshot())`;
}
