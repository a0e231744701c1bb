import type { Readable } from 'node:stream';
import { copyInto } from '../backup/restore-store.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { rowsOf } from './rows-store.ts';
import type { Needs, TableFile } from './schema.ts';
import type { MovedTable } from './tables.ts';

/** Import of an organization, with its progress. */
export interface ImportRecord {
  readonly moveId: string;
  readonly orgId: string;
  /** Offset added to exported generation ids. */
  readonly generationOffset: number;
  readonly hasRows: boolean;
  readonly hasObjects: boolean;
  readonly rebuilt: readonly string[];
  readonly leftOut: readonly string[];
  readonly isVerified: boolean;
  readonly isActivated: boolean;
}

/** Find an import by move id or by organization id. */
export async function findImport(
  sql: Sql,
  by: { readonly moveId: string } | { readonly orgId: string },
): Promise<ImportRecord | null> {
  const [row] = await sql<ImportRecord[]>`
    SELECT move_id AS "moveId", org_id AS "orgId", generation_offset AS "generationOffset",
           rows_at IS NOT NULL AS "hasRows", objects_at IS NOT NULL AS "hasObjects", rebuilt, left_out AS "leftOut",
           verified_at IS NOT NULL AS "isVerified", activated_at IS NOT NULL AS "isActivated"
    FROM organization_imports
    WHERE ${'moveId' in by ? sql`move_id = ${by.moveId}` : sql`org_id = ${by.orgId}`}`;
  return row ?? null;
}

/** Insert the record of a new import. Replace that of an earlier import of the organization, which has since left. */
export async function insertImport(
  tx: Sql,
  { moveId, orgId, generationOffset }: Pick<ImportRecord, 'moveId' | 'orgId' | 'generationOffset'>,
): Promise<void> {
  await tx`DELETE FROM organization_imports WHERE org_id = ${orgId}`;
  await tx`
    INSERT INTO organization_imports (move_id, org_id, generation_offset)
    VALUES (${moveId}, ${orgId}, ${generationOffset})`;
}

/** Record that an import step is done. */
export async function markStep(
  sql: Sql,
  moveId: string,
  step: 'rows_at' | 'objects_at' | 'verified_at' | 'activated_at',
): Promise<void> {
  await sql`UPDATE organization_imports SET ${sql(step)} = now() WHERE move_id = ${moveId}`;
}

/** Record that a bucket's index is built. */
export async function markBucketBuilt(
  sql: Sql,
  moveId: string,
  { bucketId, leftOut }: { readonly bucketId: string; readonly leftOut: readonly string[] },
): Promise<void> {
  await sql`
    UPDATE organization_imports SET rebuilt = rebuilt || ${bucketId}::text,
      left_out = left_out || ${sql.array([...leftOut])}::text[]
    WHERE move_id = ${moveId}`;
}

/** Record that a bucket's index must be rebuilt. */
export async function forgetBuilt(sql: Sql, moveId: string, bucketId: string): Promise<void> {
  await sql`UPDATE organization_imports SET rebuilt = array_remove(rebuilt, ${bucketId}) WHERE move_id = ${moveId}`;
}

/**
 * Reserve `count` consecutive generation ids. Return the id before the first one. ALTER SEQUENCE blocks other users of
 * the sequence until the transaction ends (PostgreSQL manual, ALTER SEQUENCE, notes).
 */
export async function reserveGenerations(tx: Sql, count: number): Promise<number> {
  await tx`ALTER SEQUENCE document_generations INCREMENT BY 1`;
  const [row] = await tx<{ last: number }[]>`SELECT last_value::bigint AS last FROM document_generations`;
  const last = Number(row?.last ?? 0);
  await tx`SELECT setval('document_generations', ${last + count + 1})`;
  return last;
}

/** Return the name of the temporary table that stages a table's rows. */
const staged = (table: string) => `arriving_${table}`;

/** Copy rows into a temporary staging table, which is dropped at the end of the transaction. */
export async function stageRows(
  tx: Sql,
  { table, columns }: Pick<TableFile, 'table' | 'columns'>,
  rows: Readable,
): Promise<void> {
  await tx`
    CREATE TEMPORARY TABLE ${tx(staged(table))} ON COMMIT DROP AS SELECT ${tx([...columns])} FROM ${tx(table)} LIMIT 0`;
  await copyInto(tx, { table: staged(table), columns }, rows);
}

/** Set an encrypted value of a staged row. Return false if there is no such row. */
export async function fillSealed(
  tx: Sql,
  { table, column, row }: { readonly table: string; readonly column: string; readonly row: Record<string, string> },
  sealed: Buffer,
): Promise<boolean> {
  const conditions = Object.entries(row).map(([name, value]) => tx`${tx(name)}::text = ${value}`);
  const all = conditions.reduce((left, right) => tx`${left} AND ${right}`);
  const { count } = await tx`UPDATE ${tx(staged(table))} SET ${tx(column)} = ${sealed} WHERE ${all}`;
  return count === 1;
}

/** Set the source's pepper on the staged API keys that the source issued itself. */
export async function fillPepper(tx: Sql, sealedPepper: Buffer): Promise<void> {
  await tx`UPDATE ${tx(staged('api_keys'))} SET sealed_pepper = ${sealedPepper} WHERE sealed_pepper IS NULL`;
}

/** Values that staged rows get on the target. */
export interface Arrival {
  readonly orgId: string;
  readonly moveId: string;
  readonly name: string;
  readonly generationOffset: number;
  /** Map versions of the target, keyed by those of the source. */
  readonly mapVersions: Readonly<Record<string, number>>;
}

/** Insert the organization's staged rows of a table. Return the number of rows. */
export async function insertStaged(
  tx: Sql,
  { table, columns }: Pick<TableFile, 'table' | 'columns'>,
  moved: MovedTable,
  arrival: Arrival,
): Promise<number> {
  const own = VALUES[table]?.(tx, arrival) ?? {};
  const inserted = [...new Set([...columns, ...Object.keys(own)])];
  const values = inserted.map((column) => own[column] ?? tx`${tx(column)}`);
  const list = values.reduce((left, right) => tx`${left}, ${right}`);
  const { count } = await tx`
    INSERT INTO ${tx(table)} (${tx(inserted)}) SELECT ${list} FROM ${tx(staged(table))}
    WHERE ${rowsOf(tx, moved, tx`${arrival.orgId}`)} ${moved.orderedBy === undefined ? tx`` : tx`ORDER BY ctid`}`;
  return count;
}

type Values = (tx: Sql, arrival: Arrival) => Readonly<Record<string, SqlFragment>>;

/** Values that replace those of the source, by table and column. */
const VALUES: Readonly<Record<string, Values>> = {
  organizations: (tx, { moveId, name }) => ({
    name: tx`${name}`,
    // Suspend the organization until its activation, so that nothing is served or sent for it.
    suspended_at: tx`now()`,
    suspended_before: tx`NULL::timestamptz`,
    move_state: tx`'arriving'`,
    move_id: tx`${moveId}`,
    arrived_at: tx`now()`,
  }),
  users: (tx) => ({ account_id: tx`NULL::text` }),
  documents: (tx, { generationOffset }) => ({
    active_generation: tx`active_generation + ${generationOffset}::bigint`,
    stored_generation: tx`stored_generation + ${generationOffset}::bigint`,
  }),
  generations: (tx, { generationOffset, mapVersions }) => ({
    id: tx`id + ${generationOffset}::bigint`,
    replaces: tx`replaces + ${generationOffset}::bigint`,
    artifact_key: tx`
      regexp_replace(artifact_key, '/chunks-' || id || '$', '/chunks-' || id + ${generationOffset}::bigint)`,
    map_version: tx`(${tx.json(mapVersions)}::jsonb ->> map_version::text)::bigint`,
  }),
  jobs: (tx, { generationOffset }) => ({ generation: tx`generation + ${generationOffset}::bigint` }),
  // No index table exists yet. Keeping the source's version would make readers wait for it.
  index_tables: (tx) => ({ version: tx`0`, table_name: tx`NULL::text`, deleted_since: tx`NULL::timestamptz` }),
};

/** Match maps of the source with those of the target. Return target versions, keyed by source version. */
export async function selectMapVersions(sql: Sql, maps: Needs['maps']): Promise<Record<string, number>> {
  const versions: Record<string, number> = {};
  for (const { version, space, model, sha256 } of maps) {
    const [row] = await sql`
      SELECT version FROM projection_maps
      WHERE space_id = ${space} AND model = ${model} AND sha256 = decode(${sha256}, 'hex') ORDER BY version DESC LIMIT 1`;
    if (row) versions[version] = Number(row['version']);
  }
  return versions;
}

/** Count the chunks of each live generation of a bucket that has any. */
export async function selectLiveChunks(sql: Sql, orgId: string, bucketId: string): Promise<Map<number, number>> {
  const rows = await sql`
    SELECT g.id, g.chunks_count FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.org_id = ${orgId} AND d.bucket_id = ${bucketId} AND d.status <> 'deleting' AND g.chunks_count > 0`;
  return new Map(rows.map((row) => [Number(row['id']), row['chunks_count'] as number]));
}

/** Return the live generations of documents. */
export async function selectGenerationsOf(sql: Sql, orgId: string, documentIds: readonly string[]): Promise<number[]> {
  const rows = await sql`
    SELECT active_generation AS id FROM documents
    WHERE org_id = ${orgId} AND id = ANY(${sql.array([...documentIds])}::text[]) AND active_generation IS NOT NULL`;
  return rows.map((row) => Number(row['id']));
}

/** Count an organization's searchable documents and their chunks. */
export async function countLive(sql: Sql, orgId: string): Promise<{ documents: number; chunks: number }> {
  const [row] = await sql<[{ documents: number; chunks: number }]>`
    SELECT count(*)::int AS documents, coalesce(sum(g.chunks_count), 0)::bigint AS chunks
    FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.org_id = ${orgId} AND d.status <> 'deleting'`;
  return row;
}

/** List rows of other organizations that hold a value that must be unique in an installation. */
export async function selectTaken(sql: Sql, orgId: string, keyIds: readonly string[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT id FROM api_keys WHERE id = ANY(${sql.array([...keyIds])}::text[]) AND org_id <> ${orgId} LIMIT 20`;
  return rows.map(({ id }) => id);
}
