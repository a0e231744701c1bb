import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { Sql } from '../platform/postgres.ts';
import type { SchemaObjects } from '../platform/schema-objects.ts';
import type { SequenceState } from './schema.ts';

/** Maximum time that a snapshot may wait for the backup location between two tables. */
const IDLE_MS_MAX = 600_000;

const BLOCK_BYTES = 64 * 1024;

/** Options of the transaction that reads all tables in one snapshot. */
export const SNAPSHOT = 'isolation level repeatable read read only';

/** Set limits and formats of the transaction, so that COPY writes and reads values in the same format everywhere. */
export async function prepareCopy(tx: Sql): Promise<void> {
  await tx`
    SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '30s', true),
           set_config('idle_in_transaction_session_timeout', ${String(IDLE_MS_MAX)}, true),
           set_config('DateStyle', 'ISO, YMD', true), set_config('IntervalStyle', 'postgres', true),
           set_config('TimeZone', 'UTC', true), set_config('bytea_output', 'hex', true),
           set_config('extra_float_digits', '1', true)`;
}

/** Read the time of the snapshot. */
export async function readSnapshotTime(tx: Sql): Promise<Date> {
  const [row] = await tx<{ at: Date }[]>`SELECT now() AS at`;
  return (row as { at: Date }).at;
}

/** List the columns of a table that aren't generated. */
export async function selectColumns(tx: Sql, table: string): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    SELECT attname::text AS name FROM pg_attribute
    WHERE attrelid = to_regclass(${table}) AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
    ORDER BY attnum`;
  return rows.map(({ name }) => name);
}

export async function countRows(tx: Sql, table: string): Promise<number> {
  const [row] = await tx<{ n: number }[]>`SELECT count(*) AS n FROM ${tx(table)}`;
  return Number(row?.n ?? 0);
}

/** Read the secret key check of the installation; null if there is none. */
export async function selectSecretKeyCheck(tx: Sql): Promise<string | null> {
  const [row] = await tx<{ check: string }[]>`SELECT encode(secret_key_check, 'hex') AS check FROM installation`;
  return row?.check ?? null;
}

/** Read the sequences, including those of identity columns. */
export async function selectSequences(tx: Sql, { tables, sequences }: SchemaObjects): Promise<SequenceState[]> {
  const rows = await tx<{ name: string }[]>`
    SELECT c.relname::text AS name FROM pg_depend d
    JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
    WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
      AND d.refobjid IN (SELECT to_regclass(name)::oid FROM unnest(${tx.array([...tables])}::text[]) AS name)
    ORDER BY 1`;
  const states: SequenceState[] = [];
  for (const name of [...sequences, ...rows.map((row) => row.name)]) {
    const [row] = await tx<{ last_value: string; is_called: boolean }[]>`
      SELECT last_value::text, is_called FROM ${tx(name)}`;
    if (row) states.push({ sequence: name, ...row });
  }
  return states;
}

/** Stream the rows of a table as text, one row per line. COPY supports a partitioned table only as a query. */
export function copyTable<T>(
  tx: Sql,
  table: string,
  columns: readonly string[],
  use: (rows: Readable) => Promise<T>,
): Promise<T> {
  return withRows(tx`COPY (SELECT ${tx([...columns])} FROM ${tx(table)}) TO STDOUT`.readable(), use);
}

/** Stream the keys of the files that rows refer to, in byte order, one per line. */
export function copyReferences<T>(tx: Sql, use: (keys: Readable) => Promise<T>): Promise<T> {
  const query = tx`
    COPY (
      SELECT key FROM (
        SELECT object_key AS key FROM documents WHERE status <> 'deleting'
        UNION
        SELECT g.artifact_key FROM documents d
        JOIN generations g ON g.id = d.active_generation OR g.id = d.stored_generation
        WHERE d.status <> 'deleting' AND g.chunks_count > 0
        UNION
        SELECT object_key FROM projection_spaces
        UNION
        SELECT object_key FROM projection_maps
        UNION
        SELECT jobs.s3_key FROM jobs JOIN bulk_jobs ON bulk_jobs.job_id = jobs.id
        WHERE bulk_jobs.swept_at IS NULL AND jobs.status IN ('queued', 'extracting', 'chunking', 'embedding', 'indexing')
        UNION
        SELECT object_key FROM files
        UNION
        SELECT input_key FROM batches WHERE ended_at IS NULL
      ) AS referenced ORDER BY key COLLATE "C"
    ) TO STDOUT`;
  return withRows(query.readable(), use);
}

/** Always read the stream of a COPY to its end. Until then, its connection accepts no other statement. */
export async function withRows<T>(opening: Promise<Readable>, use: (rows: Readable) => Promise<T>): Promise<T> {
  const rows = await opening;
  try {
    return await use(Readable.from(inBlocks(rows), { objectMode: false }));
  } catch (error) {
    if (!rows.destroyed) {
      rows.resume();
      await finished(rows).catch(() => undefined);
    }
    throw error;
  } finally {
    // postgres.js pauses its socket while the stream is full, and leaves it paused if the stream ends then.
    rows._read(0);
  }
}

/** Join rows into blocks, since compression costs more per call than per byte. Never destroy the stream. */
async function* inBlocks(rows: Readable): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for await (const row of rows.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    parts.push(row);
    bytes += row.length;
    if (bytes < BLOCK_BYTES) continue;
    yield Buffer.concat(parts, bytes);
    parts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(parts, bytes);
}
