import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { findFirstOrganization } from '../access/organization-store.ts';
import { isInProgress } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { SchemaObjects } from '../platform/schema-objects.ts';
import type { SequenceState } from './schema.ts';

/** Names of the service's processes in the database. */
const APPLICATIONS = ['service', 'service/direct'];

/** Count the connections of other processes of the service to this database. */
export async function countConnections(sql: Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    SELECT count(*)::int AS n FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ANY(${sql.array(APPLICATIONS)}::text[])`;
  return row?.n ?? 0;
}

/** Tables that gain rows when an installation is used, with their number of rows in a new installation. */
const USED: Readonly<Record<string, number>> = {
  organizations: 1,
  users: 0,
  api_keys: 1,
  buckets: 1,
  documents: 0,
  jobs: 0,
  usage_ledger: 0,
  channel_configs: 0,
};

/** List the tables with more rows than in a new installation. Missing tables count as empty. */
export async function findUsedTables(sql: Sql): Promise<string[]> {
  const used: string[] = [];
  for (const [table, rowsMax] of Object.entries(USED)) {
    if (!(await hasTable(sql, table))) continue;
    const rows = await sql`SELECT 1 FROM ${sql(table)} LIMIT ${rowsMax + 1}`;
    if (rows.length > rowsMax) used.push(table);
  }
  return used;
}

/** Return true if the database has the table of restores. */
export function hasRestores(sql: Sql): Promise<boolean> {
  return hasTable(sql, 'restores');
}

/** Find the installation's id, which is its first organization's id; null if it was never started. */
export async function findInstallation(sql: Sql): Promise<string | null> {
  return (await hasTable(sql, 'organizations')) ? ((await findFirstOrganization(sql)) ?? null) : null;
}

async function hasTable(sql: Sql, name: string): Promise<boolean> {
  const [found] = await sql<{ exists: boolean }[]>`SELECT to_regclass(${name}) IS NOT NULL AS exists`;
  return found?.exists === true;
}

/** Drop everything that the migrations have created, but keep objects of other programs in the database. */
export async function dropSchema(tx: Sql, { tables, sequences, functions }: SchemaObjects): Promise<void> {
  for (const table of [...tables].reverse()) await tx`DROP TABLE IF EXISTS ${tx(table)} CASCADE`;
  for (const sequence of sequences) await tx`DROP SEQUENCE IF EXISTS ${tx(sequence)} CASCADE`;
  for (const name of functions) await tx`DROP FUNCTION IF EXISTS ${tx(name)} CASCADE`;
  await tx`DROP TABLE IF EXISTS schema_migrations, schema_compatibility`;
}

/** Delete rows inserted by migrations. */
export async function emptyTables(tx: Sql, tables: readonly string[]): Promise<void> {
  await tx`TRUNCATE ${tx([...tables])}`;
}

/**
 * Fill a table with rows in text form. Disable its triggers, since the backup includes the rows that they would write.
 * @throws the error of postgres.js for a row that the table refuses
 */
export async function fillTable(
  tx: Sql,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  rows: Readable,
): Promise<void> {
  await tx`ALTER TABLE ${tx(table)} DISABLE TRIGGER USER`;
  await copyInto(tx, { table, columns }, rows);
  await tx`ALTER TABLE ${tx(table)} ENABLE TRIGGER USER`;
}

/** Copy rows in text form into a table. @throws the error of postgres.js for a row that the table refuses */
export async function copyInto(
  tx: Sql,
  { table, columns }: { readonly table: string; readonly columns: readonly string[] },
  rows: Readable,
): Promise<void> {
  let refusal: unknown = null;
  const writable: Writable = await tx`COPY ${tx(table)} (${tx([...columns])}) FROM STDIN`.writable();
  writable.on('error', (error) => {
    refusal ??= error;
  });
  try {
    for await (const chunk of rows) {
      if (refusal !== null) break;
      await new Promise<void>((resolve) => writable.write(chunk, () => resolve()));
    }
  } catch (error) {
    // This makes the COPY fail, and the transaction with it.
    writable.destroy(error as Error);
    throw error;
  }
  if (refusal === null) {
    writable.end();
    await setImmediate(); // until then, the connection accepts no other statement
    // postgres.js doesn't report an error after the last row, but the transaction has then failed.
    await tx`SELECT 1`.catch((error: unknown) => {
      refusal ??= error;
    });
  }
  if (refusal !== null) throw refusal;
}

export async function setSequences(tx: Sql, sequences: readonly SequenceState[]): Promise<void> {
  for (const { sequence, last_value, is_called } of sequences) {
    await tx`SELECT setval(${sequence}::text::regclass, ${last_value}::text::bigint, ${is_called})`;
  }
}

/**
 * Reset restored rows to the state with all processes stopped. Queue running jobs again without spending an attempt,
 * and remove references to workers, index tables and runs of the original machine. End sessions and grants, since a
 * user may have signed out or revoked them after the backup.
 */
export async function resetRuntimeState(tx: Sql, backupId: string): Promise<void> {
  await tx`
    UPDATE jobs SET status = 'queued', fence = fence + 1, worker_id = NULL, lease_expires_at = NULL, updated_at = now()
    WHERE ${isInProgress(tx)}`;
  await tx`DELETE FROM workers`;
  // Backups of earlier releases don't have these tables.
  for (const table of ['sessions', 'sign_in_links', 'oauth_grants'])
    if (await hasTable(tx, table)) await tx`DELETE FROM ${tx(table)}`;
  await tx`DELETE FROM reprojections`;
  await tx`DELETE FROM retired_index_tables`;
  await tx`
    DELETE FROM index_tables t WHERE NOT EXISTS (
      SELECT 1 FROM documents d
      WHERE d.bucket_id = t.bucket_id AND d.active_generation IS NOT NULL AND d.status <> 'deleting')`;
  // A restore over the same installation leaves its index tables, which are dropped later.
  await tx`
    INSERT INTO retired_index_tables (table_name, bucket_id)
    SELECT table_name, bucket_id FROM index_tables WHERE table_name IS NOT NULL`;
  // No index table has the backup's version, so a reader would wait for it forever.
  await tx`UPDATE index_tables SET version = 0, table_name = NULL`;
  // These rows name transactions of the original server.
  if (await hasTable(tx, 'document_changes')) {
    await tx`TRUNCATE document_changes`;
    await tx`
      UPDATE document_change_log SET kept_from = pg_snapshot_xmin(pg_current_snapshot()),
        next_kept_from = pg_snapshot_xmin(pg_current_snapshot())`;
  }
  if (await hasTable(tx, 'server_run')) {
    await tx`TRUNCATE server_run`;
    await tx`INSERT INTO server_run DEFAULT VALUES`;
  }
  await tx`DELETE FROM restores`;
  await tx`INSERT INTO restores (backup_id) VALUES (${backupId})`;
}

/** Bucket whose index is to be built from stored chunks. */
export interface BucketToIndex {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly chunks: number;
}

/** List the buckets with searchable documents, including documents without vectors. */
export async function selectBucketsToIndex(sql: Sql): Promise<BucketToIndex[]> {
  return sql<BucketToIndex[]>`
    SELECT b.id, b.org_id AS "orgId", b.name, sum(g.chunks_count)::bigint AS chunks
    FROM buckets b JOIN index_tables t ON t.bucket_id = b.id
    JOIN documents d ON d.bucket_id = b.id AND d.status <> 'deleting'
    JOIN generations g ON g.id = d.active_generation
    WHERE b.deleting_at IS NULL GROUP BY 1, 2, 3 ORDER BY 1`;
}

/** Return true if there is an API key with this public id. */
export async function hasApiKey(sql: Sql, id: string): Promise<boolean> {
  return (await sql`SELECT 1 FROM api_keys WHERE id = ${id}`).length > 0;
}
