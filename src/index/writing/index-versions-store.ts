import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { INDEX_TERMS_VERSION } from '../../language/terms-version.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { TableState } from '../chunk-index.ts';
import { engineOf, firstTableName } from '../engines.ts';
import { PAGE_ROWS } from './in-pages.ts';
import { lockLost } from './writer-lock.ts';

/**
 * Publish a newer version of the table to readers. A null `origin` leaves the origin unchanged.
 *
 * @throws AppError `index_lock_lost` (503) if the bucket now uses another table, whose versions are unrelated. Only a
 *   writer that lost its lock can get this error
 */
export async function publishVersion(
  sql: Sql,
  bucketId: string,
  table: TableState & { readonly origin: VectorOrigin | null; readonly settled: boolean },
): Promise<void> {
  // Only a bucket's first table can be unknown to PostgreSQL.
  const isFirst = table.name === firstTableName(bucketId, engineOf(table.name));
  const rows = await sql`
    INSERT INTO index_tables (bucket_id, table_name, version, model, revision, space, settled, fragments, unindexed_rows,
                              terms_version)
    SELECT ${bucketId}, ${table.name === bucketId ? null : table.name}, ${table.version},
           ${table.origin?.model ?? null}, ${table.origin?.revision ?? null}, ${table.origin?.space ?? null},
           ${table.settled}, ${table.fragments}::integer,
           ${table.unindexedRows}::bigint, ${INDEX_TERMS_VERSION}::integer
    WHERE ${isFirst} OR EXISTS (SELECT 1 FROM index_tables WHERE bucket_id = ${bucketId})
    ON CONFLICT (bucket_id) DO UPDATE
      SET version = greatest(index_tables.version, excluded.version),
          model = CASE WHEN index_tables.space IS NULL THEN excluded.model ELSE index_tables.model END,
          revision = CASE WHEN index_tables.space IS NULL THEN excluded.revision ELSE index_tables.revision END,
          space = coalesce(index_tables.space, excluded.space), settled = excluded.settled, updated_at = now(),
          fragments = coalesce(excluded.fragments, index_tables.fragments),
          unindexed_rows = coalesce(excluded.unindexed_rows, index_tables.unindexed_rows)
      WHERE coalesce(index_tables.table_name, index_tables.bucket_id) = ${table.name}
    RETURNING 1`;
  if (rows.length === 0) throw lockLost();
}

/**
 * Record that the table was merged and cleaned up at this version.
 *
 * @throws AppError `index_lock_lost` (503) as for `publishVersion`
 */
export async function markSettled(
  sql: Sql,
  bucketId: string,
  { name, version, fragments, unindexedRows }: TableState,
): Promise<void> {
  const rows = await sql`
    UPDATE index_tables SET version = greatest(version, ${version}), settled = true, cleaned_at = now(),
           fragments = ${fragments},
           unindexed_rows = ${unindexedRows}
    WHERE bucket_id = ${bucketId} AND coalesce(table_name, bucket_id) = ${name} RETURNING 1`;
  if (rows.length === 0) throw lockLost();
}

/**
 * Find buckets whose index has been unsettled for `quietMs`. Their writer is gone, since a writer settles the index
 * when it pauses. Also find buckets whose old versions were too recent to be deleted at the last cleanup.
 *
 * @param after bucket id after which the page starts; pages are ordered by id
 */
export async function findUnsettled(
  sql: Sql,
  quietMs: number,
  keepVersionsMs: number,
  after: string,
): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM index_tables
    WHERE bucket_id > ${after} AND (
      (NOT settled AND updated_at < now() - ${quietMs} * interval '1 millisecond')
      OR (cleaned_at < updated_at + ${keepVersionsMs} * interval '1 millisecond'
          AND now() > updated_at + ${keepVersionsMs + quietMs} * interval '1 millisecond'))
    ORDER BY bucket_id LIMIT ${PAGE_ROWS}`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** Totals over the search indexes of all buckets, as recorded by their writers at the last commit. */
export interface IndexTotals {
  readonly tables: number;
  readonly unsettled: number;
  readonly fragments: number;
  readonly fragmentsMax: number;
  readonly unindexedRows: number;
  readonly unindexedRowsMax: number;
}

export async function readIndexTotals(sql: Sql): Promise<IndexTotals> {
  const [row] = await sql`
    SELECT count(*) AS tables, count(*) FILTER (WHERE NOT settled) AS unsettled,
           coalesce(sum(fragments), 0)::bigint AS fragments, coalesce(max(fragments), 0) AS fragments_max,
           coalesce(sum(unindexed_rows), 0)::bigint AS unindexed, coalesce(max(unindexed_rows), 0) AS unindexed_max
    FROM index_tables`;
  const value = (name: string) => Number(row?.[name] ?? 0);
  return {
    tables: value('tables'),
    unsettled: value('unsettled'),
    fragments: value('fragments'),
    fragmentsMax: value('fragments_max'),
    unindexedRows: value('unindexed'),
    unindexedRowsMax: value('unindexed_max'),
  };
}
