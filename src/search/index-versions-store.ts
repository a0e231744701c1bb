import type { VectorOrigin } from '../embedding/model-choice.ts';
import type { Sql } from '../platform/postgres.ts';

/** Tell readers that a newer version of the table is there. `origin` and `shape` null: unchanged. */
export async function publishVersion(
  sql: Sql,
  bucketId: string,
  table: {
    version: number;
    origin: VectorOrigin | null;
    settled: boolean;
    shape: { fragments: number; unindexedRows: number } | null;
  },
): Promise<void> {
  await sql`
    INSERT INTO index_tables (bucket_id, version, model, revision, space, settled, fragments, unindexed_rows)
    VALUES (${bucketId}, ${table.version}, ${table.origin?.model ?? null}, ${table.origin?.revision ?? null},
            ${table.origin?.space ?? null}, ${table.settled}, ${table.shape?.fragments ?? null},
            ${table.shape?.unindexedRows ?? null})
    ON CONFLICT (bucket_id) DO UPDATE
      SET version = greatest(index_tables.version, excluded.version),
          model = CASE WHEN index_tables.space IS NULL THEN excluded.model ELSE index_tables.model END,
          revision = CASE WHEN index_tables.space IS NULL THEN excluded.revision ELSE index_tables.revision END,
          space = coalesce(index_tables.space, excluded.space), settled = excluded.settled, updated_at = now(),
          fragments = coalesce(excluded.fragments, index_tables.fragments),
          unindexed_rows = coalesce(excluded.unindexed_rows, index_tables.unindexed_rows)`;
}

/** Record that the table was merged and cleaned at this version. `shape` null: unchanged. */
export async function markSettled(
  sql: Sql,
  bucketId: string,
  version: number,
  shape: { fragments: number; unindexedRows: number } | null,
): Promise<void> {
  await sql`
    UPDATE index_tables SET version = greatest(version, ${version}), settled = true, cleaned_at = now(),
           fragments = coalesce(${shape?.fragments ?? null}, fragments),
           unindexed_rows = coalesce(${shape?.unindexedRows ?? null}, unindexed_rows)
    WHERE bucket_id = ${bucketId}`;
}

/**
 * Find buckets whose index was left unsettled for `quietMs` (their writer is gone, since a writer settles the index
 * when it pauses), and buckets that were last cleaned before their old versions were old enough to be removed.
 */
export async function findUnsettled(sql: Sql, quietMs: number, keepVersionsMs: number): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM index_tables
    WHERE (NOT settled AND updated_at < now() - ${quietMs} * interval '1 millisecond')
      OR (cleaned_at < updated_at + ${keepVersionsMs} * interval '1 millisecond'
          AND now() > updated_at + ${keepVersionsMs + quietMs} * interval '1 millisecond')
    LIMIT 100`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** Totals over the search indexes of all buckets, as their writers recorded them at their last commit. */
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
