import postgres from 'postgres';
import type { Logger } from './logger.ts';
import { TYPES } from './postgres/arrays.ts';
import type { Connect } from './postgres/client.ts';
import { dial } from './postgres/dial.ts';
import { lockSessionsOf } from './postgres/lock-sessions.ts';
import { openPool } from './postgres/pool.ts';
import type { Query } from './postgres/query.ts';
import { rememberFactory } from './postgres/session.ts';
import type { Database, Sql } from './postgres/sql.ts';
import { hasOneHost, type PostgresTarget, toClientOptions } from './postgres/target.ts';

export { withAdvisoryLock, withSharedAdvisoryLock } from './postgres/advisory-lock.ts';
export { checkServer } from './postgres/check-server.ts';
export { hasUnknownOutcome, isUniqueViolation, mapPostgresError, mayHaveCommitted } from './postgres/errors.ts';
export { listenChannel, notifyChannel } from './postgres/listen.ts';
export { QUERY_MS, type QueryLimit } from './postgres/query-limit.ts';
export { primaryReads, type Reads, type StaleRead } from './postgres/reads.ts';
export { ReplicaReads } from './postgres/replica.ts';
export type { Database, Sql } from './postgres/sql.ts';
export { type PostgresConnection, type PostgresTarget, postgresUrl } from './postgres/target.ts';

/** Fragment of SQL with its parameters, for use in a query: `sql`… AND ${fragment}``. */
export type SqlFragment = Query<postgres.Row[]>;

const CONNECT_SECONDS = 10;

export interface PostgresOptions {
  /** Maximum number of connections, excluding those for locks and LISTEN. */
  readonly poolMax: number;
  /** Time after which a query is cancelled; null (default) for no limit. */
  readonly queryMsMax?: number | null;
  /** Time without an answer after which to try a new connection, and the time limit for its answer; see `openPool`. */
  readonly silenceMs?: number;
  /** Name shown in pg_stat_activity. */
  readonly applicationName: string;
  readonly logger?: Logger;
}

/**
 * Open a pool. It connects on the first query. Conversion of values:
 *
 * - `timestamptz` is a Date (milliseconds; PostgreSQL keeps microseconds, so page by an id rather than by a time read
 *   back)
 * - `bigint`, and thus `count(*)`, is a number, or a BigInt beyond 2^53. `numeric` is a string, so cast sums:
 *   `sum(n)::bigint`
 * - `json` and `jsonb` are parsed; write them as `${sql.json(value)}`, never as JSON.stringify(value)
 * - arrays of built-in types are arrays; as parameters, wrap arrays of anything but numbers and strings in
 *   `sql.array(dates)`
 * - `undefined` as a parameter is an error; pass null
 *
 * Errors are those of postgres.js; `mapPostgresError` recognises those that mean the database is unavailable.
 */
export function openPostgres(target: PostgresTarget, options: PostgresOptions): Database {
  const [url, targetOptions] = toClientOptions(target);
  // postgres.js would parse commas and colons in a path as hosts and ports, so pass the path separately.
  const { host = '', port = 5432 } = targetOptions;
  const { logger } = options;
  const connect: Connect = (changes) =>
    postgres(url, {
      ...targetOptions,
      max: 1,
      connect_timeout: CONNECT_SECONDS,
      idle_timeout: undefined,
      max_lifetime: null,
      keep_alive: 30,
      prepare: targetOptions.prepare ?? true,
      connection: { application_name: options.applicationName, TimeZone: 'UTC' },
      types: TYPES,
      fetch_types: false, // see TYPES
      onnotice: (notice) => logger?.debug({ notice }, 'PostgreSQL notice'),
      // With several hosts, postgres.js opens the connections itself and tries the hosts in turn.
      ...(hasOneHost(target) && { socket: host.startsWith('/') ? () => dial({ host: [host], port: [port] }) : dial }),
      ...changes,
    });
  const { queryMsMax = null, silenceMs } = options;
  const defaultLimit = queryMsMax === null ? null : { ms: queryMsMax };
  const database = openPool(connect, {
    max: options.poolMax,
    defaultLimit,
    silenceMs,
    isPooled: 'url' in target && target.isPooled === true,
  });
  const { end } = database;
  database.end = async (ending) => {
    await Promise.all([lockSessionsOf(database).close(), end(ending)]);
  };
  rememberFactory(database, connect);
  return database;
}

/**
 * Run `fn` in the transaction `sql`, or in a new transaction if `sql` is a pool. Unlike `sql.begin`, create no
 * savepoint.
 */
export function inTransaction<T>(sql: Sql, fn: (tx: Sql) => Promise<T>): Promise<T> {
  return sql.isTransaction ? fn(sql) : sql.begin(fn);
}
