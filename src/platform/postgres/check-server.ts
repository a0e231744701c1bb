import { AppError } from '../errors.ts';
import type { Secret } from '../secret.ts';
import { mapPostgresError } from './errors.ts';
import type { Sql } from './pool.ts';
import { serverAddressOf } from './target.ts';

/** Oldest PostgreSQL that the migrations run on (`NULLS NOT DISTINCT`), as `server_version_num` counts. */
const VERSION_MIN = 150_000;

/** Reasons of a failed connection in words, by the code of Node.js, postgres.js or SQLSTATE. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there; is PostgreSQL running, and is the port right?',
  ENOTFOUND: 'this host name is unknown',
  EAI_AGAIN: 'this host name cannot be looked up right now',
  ENOENT: 'there is no such socket',
  EACCES: 'this socket may not be opened by this user',
  ETIMEDOUT: 'it does not answer',
  CONNECT_TIMEOUT: 'it does not answer',
  EHOSTUNREACH: 'there is no way to this host',
  ENETUNREACH: 'there is no way to this network',
  '28000': 'it refuses this user',
  '28P01': 'it refuses this user and password',
  '3D000': 'it has no such database',
};

/**
 * Connect to the operator's PostgreSQL for the first time.
 *
 * @param setting name of the setting that `url` comes from, for messages
 * @throws AppError `postgres_unavailable`, `postgres_refused` (503) that name the setting, the address and the reason;
 *   `postgres_too_old` (503) for a version below 15
 */
export async function checkServer(sql: Sql, url: Secret, setting: string): Promise<void> {
  const address = serverAddressOf({ url });
  const [row] = await sql<{ version: string; number: number }[]>`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`.catch(
    (error: unknown) => {
      throw describeFailure(error, address, setting);
    },
  );
  if (row !== undefined && row.number < VERSION_MIN) {
    throw new AppError({
      code: 'postgres_too_old',
      status: 503,
      message: `PostgreSQL ${row.version} at ${address} (${setting}) is too old; version 15 or newer is needed`,
    });
  }
}

function describeFailure(error: unknown, address: string, setting: string): unknown {
  const mapped = mapPostgresError(error);
  const code = (error as { code?: string } | null)?.code ?? '';
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
