import type { Connection, RowDataPacket } from 'mysql2/promise';
import type { MysqlConnection } from '../../../platform/mysql-settings.ts';
import { boundedLine } from '../../../platform/printable.ts';
import { certificateReason, readCa } from '../certificates.ts';
import { SourceFault } from '../source-reader.ts';
import { toListedRow, toTableRow } from './aliased-rows.ts';
import type { Column, RowQuery, TableDatabase, TableDescription, TableName } from './table-database.ts';

const CONNECT_MS = 10_000;
/** Time limit of a statement on the operator's database. */
const STATEMENT_SECONDS = 60;
const TIME_TYPES = /^(?:date|datetime|timestamp)\b/;
/** Administrative privileges on all databases. */
const ADMINISTRATOR = /\b(?:ALL PRIVILEGES|SUPER|FILE)\b[^`']* ON \*\.\*/;

/** Open a MySQL or MariaDB database. The session is read-only and limits the time of each statement. */
export function openMysqlTables(settings: MysqlConnection): TableDatabase {
  let opened: Promise<Connection> | null = null;
  const query = (sql: string, values: readonly string[], signal: AbortSignal) =>
    asFault(async () => {
      signal.throwIfAborted();
      opened ??= connect(settings);
      const connection = await opened;
      const [rows] = await connection.execute<RowDataPacket[]>(sql, [...values]);
      return rows;
    });
  return {
    async describe(name, signal) {
      const grants = await query('SHOW GRANTS', [], signal);
      if (grants.some((row) => ADMINISTRATOR.test(Object.values(row).join(' ')))) {
        throw new SourceFault(
          'source_refused',
          'the connection logs in as an administrator; give it a user that may only read',
        );
      }
      return describeTable(name, (sql, values) => query(sql, values, signal));
    },
    isTime: (type) => TIME_TYPES.test(type),
    async list(rowQuery, after, limit, signal) {
      const { sql, values } = listSql(rowQuery, after, limit);
      return (await query(sql, values, signal)).map((row) => toListedRow(row, rowQuery));
    },
    async read(rowQuery, keys, bytesMax, signal) {
      const { sql, values } = readSql(rowQuery, keys, bytesMax);
      return (await query(sql, values, signal)).map((row) => toTableRow(row, rowQuery, bytesMax, timeOf(row)));
    },
    async close() {
      const connection = await opened?.catch(() => null);
      connection?.destroy();
    },
  };
}

async function connect({ host, port, user, password, database, ssl }: MysqlConnection): Promise<Connection> {
  const { createConnection } = await import('mysql2/promise');
  const ca = ssl === null ? null : await readCa(ssl.ca);
  const connection = await createConnection({
    host,
    port,
    user,
    database,
    password: password.reveal(),
    charset: 'utf8mb4',
    connectTimeout: CONNECT_MS,
    // The server must not request files of this host.
    flags: ['-LOCAL_FILES'],
    ...(ssl === null ? {} : { ssl: { rejectUnauthorized: true, ...(ca === null ? {} : { ca }) } }),
  });
  const [rows] = await connection.query<RowDataPacket[]>('SELECT VERSION() AS version');
  const isMariaDb = /mariadb/i.test(String(rows[0]?.['version']));
  const limit = isMariaDb
    ? `max_statement_time = ${STATEMENT_SECONDS}`
    : `max_execution_time = ${STATEMENT_SECONDS}000`;
  await connection.query(`SET SESSION ${limit}, time_zone = '+00:00'`);
  await connection.query('SET SESSION TRANSACTION READ ONLY');
  return connection;
}

async function describeTable(
  { schema, table }: TableName,
  query: (sql: string, values: readonly string[]) => Promise<RowDataPacket[]>,
): Promise<TableDescription | null> {
  const columns = await query(
    `SELECT column_name AS name, data_type AS type FROM information_schema.columns
     WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position`,
    [schema, table],
  );
  // The catalog shows only what the user may read.
  if (columns.length === 0) return null;
  const keys = await query(
    `SELECT column_name AS name FROM information_schema.key_column_usage
     WHERE table_schema = ? AND table_name = ? AND constraint_name = 'PRIMARY' ORDER BY ordinal_position`,
    [schema, table],
  );
  return {
    columns: columns.map((row) => ({ name: row['name'] as string, type: row['type'] as string })),
    primaryKey: keys.map((row) => row['name'] as string),
    isReadable: true,
  };
}

interface Statement {
  readonly sql: string;
  readonly values: readonly string[];
}

function listSql(query: RowQuery, after: readonly string[] | null, limit: number): Statement {
  const keys = keyColumns(query.key);
  const next = after === null ? '' : `AND (${keys}) > (${after.map(() => '?').join(', ')})`;
  return {
    sql: `SELECT ${keyTexts(query.key)}, ${version(query)} AS version, ${size(query)} AS size
          FROM ${tableOf(query)} AS t WHERE ${conditions(query)} ${next} ORDER BY ${keys} LIMIT ${limit}`,
    values: [...query.where.map(({ value }) => value), ...(after ?? [])],
  };
}

function readSql(query: RowQuery, keys: readonly (readonly string[])[], bytesMax: number): Statement {
  const values = query.columns.map(
    (name, index) => `CASE WHEN ${size(query)} <= ${bytesMax} THEN ${asText(name)} END AS value${index}`,
  );
  const time =
    query.eventTime === null ? 'NULL' : `TIMESTAMPDIFF(MICROSECOND, '1970-01-01', t.${quoted(query.eventTime)})`;
  const wanted = keys.map((key) => `(${key.map(() => '?').join(', ')})`).join(', ');
  const parts = [
    keyTexts(query.key),
    `${version(query)} AS version`,
    `${size(query)} AS size`,
    `${time} AS at`,
    ...values,
  ];
  return {
    sql: `SELECT ${parts.join(', ')} FROM ${tableOf(query)} AS t
          WHERE ${conditions(query)} AND (${keyColumns(query.key)}) IN (${wanted})`,
    values: [...query.where.map(({ value }) => value), ...keys.flat()],
  };
}

/** Parse a time in microseconds since 1970. */
function timeOf(row: RowDataPacket): number | null {
  const at = row['at'] as string | number | null;
  return at === null ? null : Math.floor(Number(at) / 1_000);
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

function tableOf({ schema, table }: TableName): string {
  return `${quoted(schema)}.${quoted(table)}`;
}

function asText(name: string): string {
  return `CAST(t.${quoted(name)} AS CHAR CHARACTER SET utf8mb4)`;
}

function keyColumns(key: readonly Column[]): string {
  return key.map(({ name }) => `t.${quoted(name)}`).join(', ');
}

function keyTexts(key: readonly Column[]): string {
  return key.map(({ name }, index) => `${asText(name)} AS key${index}`).join(', ');
}

function conditions({ key, where }: RowQuery): string {
  const hasKey = key.map(({ name }) => `t.${quoted(name)} IS NOT NULL`);
  return [...hasKey, ...where.map(({ name }) => `t.${quoted(name)} = ?`)].join(' AND ');
}

/** Build the expression for the size in bytes of a document's columns. */
function size({ columns }: RowQuery): string {
  return columns.map((name) => `COALESCE(OCTET_LENGTH(t.${quoted(name)}), 0)`).join(' + ');
}

/** Build a hash of a document's columns. Hash each column separately, since concatenated text has a maximum length. */
function version({ columns, eventTime, updatedAt }: RowQuery): string {
  const all = [...new Set([...columns, ...(eventTime === null ? [] : [eventTime])])];
  const parts = all.map((name) => `COALESCE(SHA2(${asText(name)}, 256), '-')`);
  const digest = `SHA2(CONCAT(${parts.join(', ')}), 256)`;
  return updatedAt === null ? digest : `COALESCE(${asText(updatedAt)}, ${digest})`;
}

/** MySQL error codes for a refused login or privilege, and for an unknown name. */
const REFUSED = new Set(['ER_ACCESS_DENIED_ERROR', 'ER_DBACCESS_DENIED_ERROR', 'ER_HOST_NOT_PRIVILEGED']);
const GONE = new Set([
  ...['ER_BAD_DB_ERROR', 'ER_NO_SUCH_TABLE', 'ER_BAD_FIELD_ERROR', 'ER_TABLEACCESS_DENIED_ERROR'],
  'ER_COLUMNACCESS_DENIED_ERROR',
]);

async function asFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SourceFault || (error as Error).name === 'AbortError') throw error;
    const { code = 'unknown', message } = error as NodeJS.ErrnoException;
    const reason = boundedLine(message, 300);
    const fault = (category: SourceFault['category'], text: string, retryable = false) =>
      new SourceFault(category, text, { retryable, cause: error });
    if (REFUSED.has(code))
      throw fault('source_refused', `the database refuses the login (${reason}); check user and password`);
    if (GONE.has(code)) throw fault('source_missing', `the table cannot be read any more (${reason})`);
    const untrusted = certificateReason(error);
    if (untrusted !== null) throw fault('source_refused', `the database cannot be trusted: ${untrusted}`);
    throw fault(
      'source_unavailable',
      `the database does not answer as it should (${reason}); check the connection`,
      true,
    );
  }
}
