import type { Readable } from 'node:stream';
import { prepareCopy, withRows } from '../backup/snapshot-store.ts';
import { isUnfinished } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';
import { KEYWORD_ONLY } from '../projection/projections.ts';
import { rowsOf } from './rows-store.ts';
import type { Needs } from './schema.ts';
import type { MovedTable } from './tables.ts';

// COPY takes no parameters, so a custom setting of the transaction holds the organization's id.
const ORG = 'service.moving_org';
const ofOrg = (tx: Sql) => tx.unsafe(`current_setting('${ORG}')`);

/** Prepare a transaction to export the rows of one organization. */
export async function prepareExport(tx: Sql, orgId: string): Promise<void> {
  await prepareCopy(tx);
  await tx`SELECT set_config(${ORG}, ${orgId}, true)`;
}

/** Stream the organization's rows as text, one row per line. Encrypted columns are empty. */
export function copyRowsOf<T>(
  tx: Sql,
  table: MovedTable,
  columns: readonly string[],
  use: (rows: Readable) => Promise<T>,
): Promise<T> {
  const values = columns.map((column) =>
    table.sealed?.columns.includes(column) === true
      ? tx`CASE WHEN ${tx(column)} IS NOT NULL THEN ''::bytea END`
      : tx`${tx(column)}`,
  );
  const list = values.reduce((all, value) => tx`${all}, ${value}`);
  const order = table.orderedBy === undefined ? tx`` : tx`ORDER BY ${tx(table.orderedBy)}`;
  const query = tx`
    COPY (SELECT ${list} FROM ${tx(table.name)} WHERE ${rowsOf(tx, table, ofOrg(tx))} ${order}) TO STDOUT`;
  return withRows(query.readable(), use);
}

/** Encrypted value, with the key columns of its row. */
export interface SealedRow {
  readonly row: Readonly<Record<string, string | Buffer>>;
  readonly sealed: Buffer;
}

/** Read the encrypted values of a column. */
export async function selectSealed(
  tx: Sql,
  table: MovedTable,
  { key, column }: { readonly key: readonly string[]; readonly column: string },
): Promise<SealedRow[]> {
  const rows = await tx`
    SELECT ${tx([...key])}, ${tx(column)} AS sealed_value FROM ${tx(table.name)}
    WHERE ${rowsOf(tx, table, ofOrg(tx))} AND ${tx(column)} IS NOT NULL`;
  return rows.map(({ sealed_value: sealed, ...row }) => ({ row, sealed }) as SealedRow);
}

/** Stream the keys of the files that the organization's rows refer to, in byte order, one per line. */
export function copyReferencesOf<T>(tx: Sql, use: (keys: Readable) => Promise<T>): Promise<T> {
  const org = ofOrg(tx);
  const query = tx`
    COPY (
      SELECT key FROM (
        SELECT object_key AS key FROM documents WHERE org_id = ${org} AND status <> 'deleting'
        UNION
        SELECT g.artifact_key FROM documents d
        JOIN generations g ON g.id = d.active_generation OR g.id = d.stored_generation
        WHERE d.org_id = ${org} AND d.status <> 'deleting' AND g.chunks_count > 0
        UNION
        SELECT jobs.s3_key FROM jobs JOIN bulk_jobs ON bulk_jobs.job_id = jobs.id
        WHERE jobs.org_id = ${org} AND bulk_jobs.swept_at IS NULL AND ${isUnfinished(tx)}
        UNION
        SELECT object_key FROM files WHERE org_id = ${org}
        UNION
        SELECT input_key FROM batches WHERE org_id = ${org} AND ended_at IS NULL
      ) AS referenced ORDER BY key COLLATE "C"
    ) TO STDOUT`;
  return withRows(query.readable(), use);
}

/** Read the requirements of the organization on an installation. */
export async function selectNeeds(tx: Sql, orgId: string): Promise<Omit<Needs, 'schema_version'>> {
  const vectors = await tx<Needs['vectors']>`
    SELECT b.name AS bucket, coalesce(t.model, '') AS model, t.space FROM buckets b
    JOIN index_tables t ON t.bucket_id = b.id
    WHERE b.org_id = ${orgId} AND b.deleting_at IS NULL AND t.space IS NOT NULL AND EXISTS (
      SELECT FROM documents d JOIN generations g ON g.id = d.active_generation
      WHERE d.bucket_id = b.id AND d.status <> 'deleting' AND g.space <> ${KEYWORD_ONLY})
    ORDER BY 1`;
  const maps = await tx<Needs['maps']>`
    SELECT DISTINCT m.version, m.space_id AS space, m.model, encode(m.sha256, 'hex') AS sha256
    FROM generations g JOIN projection_maps m ON m.version = g.map_version WHERE g.org_id = ${orgId} ORDER BY 1`;
  const spaces = await tx<Needs['spaces']>`
    SELECT id, encode(sha256, 'hex') AS sha256 FROM projection_spaces
    WHERE id = ANY(${tx.array(vectors.map(({ space }) => space))}::text[])`;
  const routing = await tx<{ model: string }[]>`
    SELECT unnest(ARRAY[primary_model, fallback_model]) AS model FROM routing WHERE org_id = ${orgId}`;
  const engines = await tx<{ engine: string }[]>`
    SELECT DISTINCT engine FROM buckets WHERE org_id = ${orgId} AND engine IS NOT NULL AND deleting_at IS NULL`;
  const connections = await tx<{ connection: string }[]>`
    SELECT DISTINCT connection FROM sources WHERE org_id = ${orgId} ORDER BY 1`;
  return {
    vectors: [...vectors],
    maps: [...maps],
    spaces: [...spaces],
    routing: routing.map(({ model }) => model).filter((model) => model !== null),
    engines: engines.map(({ engine }) => engine),
    connections: connections.map(({ connection }) => connection),
  };
}

/** Facts about an organization for the manifest of its export. */
export interface ExportFacts {
  readonly generations: { readonly first: number; readonly last: number };
  readonly documents: number;
  readonly chunks: number;
  readonly keyIds: readonly string[];
  readonly peopleWithPasswords: number;
}

export async function selectFacts(tx: Sql, orgId: string): Promise<ExportFacts> {
  const [row] = await tx`
    SELECT generated.first, generated.last, live.documents, live.chunks,
      (SELECT count(*)::int FROM users WHERE org_id = ${orgId} AND account_id IS NOT NULL) AS people
    FROM (SELECT count(*)::int AS documents, coalesce(sum(g.chunks_count), 0)::bigint AS chunks
      FROM documents d JOIN generations g ON g.id = d.active_generation
      WHERE d.org_id = ${orgId} AND d.status <> 'deleting') AS live,
    (SELECT coalesce(min(id), 0) AS first, coalesce(max(id), 0) AS last FROM (
      SELECT id FROM generations WHERE org_id = ${orgId}
      UNION ALL SELECT generation FROM jobs WHERE org_id = ${orgId} AND generation IS NOT NULL) AS ids) AS generated`;
  const keys = await tx<{ id: string }[]>`
    SELECT id FROM api_keys WHERE org_id = ${orgId} AND (revoked_at IS NULL OR revoked_at > now())
      AND (expires_at IS NULL OR expires_at > now()) ORDER BY id`;
  return {
    generations: { first: Number(row?.['first']), last: Number(row?.['last']) },
    documents: row?.['documents'] as number,
    chunks: Number(row?.['chunks']),
    keyIds: keys.map(({ id }) => id),
    peopleWithPasswords: row?.['people'] as number,
  };
}
