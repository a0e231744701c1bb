import type { ReadableFields } from '../../documents/visibility.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { FilteredFields } from '../filter/match-filter.ts';
import { isSearched } from './document-store.ts';
import { type Snapshot, type SnapshotRow, snapshotColumns, toSnapshot } from './snapshot.ts';

/** Facts of a document by which searches decide who may find it, and which they show. */
export interface SearchedDocument extends ReadableFields, FilteredFields {
  readonly id: string;
  readonly active_generation: number;
  readonly keyword_only: boolean;
  readonly collection_id: string | null;
  readonly file_name: string;
  readonly classification: string;
}

/** Changes of the documents of a bucket since a snapshot. */
export interface DocumentChanges {
  /** Snapshot that sees them. */
  readonly snapshot: Snapshot;
  /** Changes of transactions before this one may be missing. */
  readonly keptFrom: number;
  /**
   * Ids of changed documents, and their facts; null: searches do not find the document any more. Null for all: there
   * are more changes than are read at a time.
   */
  readonly changed: readonly (readonly [string, SearchedDocument | null])[] | null;
}

/** Documents that are read at a time. */
const PAGE = 1_000;
/** Changes that are read with a search at most; a document that has changed twice counts twice. */
const CHANGES_MAX = 1_000;
/** Changes are kept for at least so long, and up to twice that. */
const KEPT = '10 minutes';
const ONE_SNAPSHOT = 'isolation level repeatable read read only';

/**
 * Expression that tells what has changed in a bucket since a snapshot, as one statement sees it; `toChanges` reads it.
 *
 * @param bucketId column of the query around it
 */
export function changesSince(sql: Sql, bucketId: SqlFragment, { xmax, inProgress }: Snapshot): SqlFragment {
  const xids = sql.array(inProgress.map(String));
  return sql`document_changes_since(${bucketId}, ${String(xmax)}::text::xid8, ${xids}::text[]::xid8[], ${CHANGES_MAX})`;
}

/** Read a value of `changesSince`. */
export function toChanges(value: unknown): DocumentChanges {
  const row = value as SnapshotRow & { kept_from: string; changed: DocumentChanges['changed'] };
  return { snapshot: toSnapshot(row), keptFrom: Number(row.kept_from), changed: row.changed };
}

/** Give the run of the server an id unless it has one. A role that may only read fails where there is none. */
async function nameServerRun(sql: Sql): Promise<void> {
  if ((await sql`SELECT 1 FROM server_run`).length > 0) return;
  await sql`INSERT INTO server_run DEFAULT VALUES ON CONFLICT DO NOTHING`;
}

/**
 * Read the facts of all documents of a bucket that searches find, in pages of one snapshot; null: there are more than
 * `documentsMax`.
 *
 * @throws the error of postgres.js if the run of the server has no id, and the role may not write
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
 * Remove changes that were noted ten minutes ago or earlier, of transactions that had ended then. A restore of another
 * server's database leaves numbers of its transactions, which may be above all of this one: they are removed too.
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
