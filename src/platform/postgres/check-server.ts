import { setTimeout as delay } from 'node:timers/promises';
import { AppError, dependencyDown, unusable } from '../errors.ts';
import { NETWORK_REASONS } from '../network-reasons.ts';
import type { Secret } from '../secret.ts';
import { CLOSED_UNANSWERED } from './dial.ts';
import { mapPostgresError } from './errors.ts';
import type { Sql } from './sql.ts';
import { serverAddressOf } from './target.ts';

/** Oldest PostgreSQL that the migrations support (`NULLS NOT DISTINCT`), in the form of `server_version_num`. */
const VERSION_MIN = 150_000;

/** Time limit for the first connection. With several hosts, postgres.js retries forever. */
const FIRST_CONNECTION_MS = 15_000;

/** Reasons for a failed connection, by code of Node.js or postgres.js, or by SQLSTATE. */
const REASONS: Readonly<Record<string, string>> = {
  ...NETWORK_REASONS,
  CONNECT_TIMEOUT: 'it does not answer',
  [CLOSED_UNANSWERED]: 'it closes connections without an answer; is it PostgreSQL, or a proxy whose database is down?',
  '28000': 'it refuses this user',
  '28P01': 'it refuses this user and password',
  '3D000': 'it has no such database',
};

/**
 * Connect to the operator's PostgreSQL for the first time.
 * @param setting name of the setting that holds `url`, for messages
 * @throws AppError `postgres_unavailable`, `postgres_refused` (503) that name the setting, the address and the reason;
 *   `postgres_too_old` (503) for a version below 15
 */
export async function checkServer(sql: Sql, url: Secret, setting: string): Promise<void> {
  const address = serverAddressOf({ url });
  const query = sql<{ version: string; number: number }[]>`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`;
  const [row] = await withinLimit(query).catch((error: unknown) => {
    throw describeFailure(error, address, setting);
  });
  if (row !== undefined && row.number < VERSION_MIN) {
    throw unusable(
      `PostgreSQL ${row.version} at ${address} (${setting}) is too old; version 15 or newer is needed`,
      'postgres_too_old',
    );
  }
}

/** Facts that decide whether the service can use a database. */
export interface DatabaseFacts {
  readonly encoding: string;
  readonly database: string;
  readonly isReplica: boolean;
  /** True if the user may create schemas. */
  readonly mayCreate: boolean;
}

export async function readDatabaseFacts(sql: Sql): Promise<DatabaseFacts> {
  const [row] = await sql<[DatabaseFacts]>`
    SELECT current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS "isReplica",
           current_database() AS database, has_database_privilege(current_database(), 'CREATE') AS "mayCreate"`;
  return row;
}

/** Wait for a query for a limited time. The pool keeps trying until its caller closes it. */
async function withinLimit<T>(query: PromiseLike<T>): Promise<T> {
  const over = new AbortController();
  const limit = delay(FIRST_CONNECTION_MS, undefined, { signal: over.signal }).then(() => {
    throw dependencyDown(
      'postgres',
      'the database does not answer',
      Object.assign(new Error(), { code: 'CONNECT_TIMEOUT' }),
    );
  });
  limit.catch(() => undefined);
  try {
    return await Promise.race([query, limit]);
  } finally {
    over.abort();
  }
}

function describeFailure(error: unknown, address: string, setting: string): unknown {
  const mapped = mapPostgresError(error);
  const { code: own = '', cause } = (error ?? {}) as { code?: string; cause?: { code?: string } };
  const code = own in REASONS ? own : (cause?.code ?? '');
  const reason = REASONS[code];
  if (!(mapped instanceof AppError) || reason === undefined) return mapped;
  return new AppError({
    code: mapped.code,
    status: mapped.status,
    message: `PostgreSQL at ${address} (${setting}) cannot be used: ${reason}`,
    retryable: mapped.retryable,
    ...(mapped.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: mapped.retryAfterSeconds }),
    ...(mapped.details === undefined ? {} : { details: mapped.details }),
    cause: error,
  });
}

/** Check that PostgreSQL answers. @throws the error of postgres.js, or AppError if PostgreSQL is unreachable */
export async function pingServer(sql: Sql): Promise<void> {
  await sql`SELECT 1`;
}
