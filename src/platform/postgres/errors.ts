import postgres from 'postgres';
import { AppError, dependencyDown, invalidRequest, organizationMoving, tryLater } from '../errors.ts';
import { CLOSED_UNANSWERED } from './dial.ts';
import { isCanceled, queryTimeout } from './query-limit.ts';

/** Codes of postgres.js and Node's sockets for a connection that was lost or couldn't be opened. */
const CONNECTION_CODES = new Set([
  CLOSED_UNANSWERED,
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
  'CONNECTION_ENDED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** Codes of OpenSSL and Node for a server certificate that cannot be verified. */
const CERTIFICATE_CODES = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_UNTRUSTED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** Codes of a connection lost during a query. After such a loss the state of a postgres.js pool is unreliable. */
const LOSS_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECT_TIMEOUT',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
]);

/** SQLSTATE codes (PostgreSQL manual, appendix A) and classes after which the same call may succeed later. */
const UNAVAILABLE_STATES = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now: starting up or shutting down
  '57P05', // idle_session_timeout
  '25006', // read_only_sql_transaction: a former primary after a failover
  '25P03', // idle_in_transaction_session_timeout
  '25P04', // transaction_timeout
]);
const UNAVAILABLE_CLASSES = new Set([
  '08', // connection exceptions
  '53', // insufficient resources: connections, memory, disk
  '58', // system errors: I/O
]);
const CONTENTION_STATES = new Set(['40001', '40P01', '55P03']); // serialization failure, deadlock, lock not available
/** SQLSTATE of U+0000 in text (character_not_in_repertoire) and in jsonb (untranslatable_character). */
const NOT_STORABLE_STATES = new Set(['22021', '22P05']);
/** SQLSTATE of `refuse_while_moving` in the migrations. */
const MOVING_STATE = 'SVMOV';
const REFUSED_STATES = new Set(['28000', '28P01', '3D000']); // login, password, no such database

/**
 * Convert an error of postgres.js into an AppError if its cause is the state of the database, not a bug of ours:
 * `postgres_unavailable` (503), `postgres_contention` (503, retry at once), `postgres_refused` (503, wrong settings),
 * `query_timeout` (503). Also recognise `organization_moving` (503) while an organization moves, and
 * `text_not_storable` (400) if a caller sent U+0000. Return any other error unchanged.
 */
export function mapPostgresError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  if (error instanceof postgres.PostgresError) {
    if (UNAVAILABLE_STATES.has(error.code) || UNAVAILABLE_CLASSES.has(error.code.slice(0, 2)))
      return unavailable(error);
    if (CONTENTION_STATES.has(error.code)) {
      return tryLater(
        'the database cancelled this change because it conflicted with another one; try again',
        'postgres_contention',
        { retryAfterSeconds: 1, cause: error },
      );
    }
    if (REFUSED_STATES.has(error.code)) {
      return refused('PostgreSQL refused the login: check user, password and database name in DATABASE_URL', error);
    }
    if (error.code === MOVING_STATE) return organizationMoving(error);
    if (isCanceled(error)) return queryTimeout(null, error);
    if (NOT_STORABLE_STATES.has(error.code))
      return invalidRequest('text must not contain U+0000', null, 'text_not_storable');
    return error;
  }
  if (CONNECTION_CODES.has(code)) return unavailable(error);
  if (CERTIFICATE_CODES.has(code)) {
    return refused(
      `the certificate of the PostgreSQL server cannot be verified (${code}): set sslrootcert in DATABASE_URL to its certificate authority`,
      error,
    );
  }
  // ENOENT and EACCES refer to the unix socket only if `connect` failed. Otherwise they may refer to any file.
  if ((code === 'ENOENT' || code === 'EACCES') && (error as NodeJS.ErrnoException).syscall === 'connect') {
    return unavailable(error);
  }
  return error;
}

function refused(message: string, cause: unknown): AppError {
  return new AppError({ code: 'postgres_refused', status: 503, message, cause });
}

function unavailable(cause: unknown): AppError {
  return dependencyDown('postgres', 'the database is not available right now; try again', cause);
}

/** Return true if the error means that the connection was lost during a query. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  return (
    LOSS_CODES.has(code) ||
    (error instanceof postgres.PostgresError && UNAVAILABLE_STATES.has(code) && code !== '25006')
  );
}

/**
 * Return true if a transaction, or a single statement, may have been committed although it failed with this error,
 * because the answer to COMMIT was lost or late. In that case, don't delete anything that a committed row may refer to.
 */
export function mayHaveCommitted(error: unknown): boolean {
  const known = mapPostgresError(error);
  return known instanceof AppError && known.status >= 500 && !UNCHANGED.has(known.code);
}

/** Codes of `mapPostgresError` for transactions that were refused and changed nothing. */
const UNCHANGED = new Set(['postgres_contention', 'organization_moving']);
/** Codes of `mapPostgresError` for a PostgreSQL that did not answer. */
const UNANSWERED = new Set(['postgres_unavailable', 'query_timeout']);

/**
 * Return true if work of several steps failed because PostgreSQL didn't answer, so that all of it may have been done.
 * Use `mayHaveCommitted` for the error of one transaction. Unlike it, this returns false for any other fault.
 */
export function hasUnknownOutcome(error: unknown): boolean {
  const known = mapPostgresError(error);
  return known instanceof AppError && UNANSWERED.has(known.code);
}

/** Return true if a unique constraint or index refused the row. With `constraint`, check for this name only. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return (
    error instanceof postgres.PostgresError &&
    error.code === '23505' &&
    (constraint === undefined || error.constraint_name === constraint)
  );
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
