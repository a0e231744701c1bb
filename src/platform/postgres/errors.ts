import postgres from 'postgres';
import { AppError, dependencyDown, invalidRequest } from '../errors.ts';
import { CLOSED_UNANSWERED } from './dial.ts';

/** Codes of postgres.js and of Node's sockets that tell that a connection was lost or could not be had. */
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

/** Codes of OpenSSL and Node for a server certificate that does not verify. */
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

/** Connection codes after which a pool's own bookkeeping is not to be trusted: a connection died under a query. */
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
/** character_not_in_repertoire (text), untranslatable_character (jsonb): U+0000, which neither can hold. */
const NOT_STORABLE_STATES = new Set(['22021', '22P05']);
const REFUSED_STATES = new Set(['28000', '28P01', '3D000']); // login, password, no such database

/**
 * Turn what postgres.js throws into an AppError where it tells of the database's state rather than of a fault of ours:
 * `postgres_unavailable` (503), `postgres_contention` (503, retry at once), `postgres_refused` (503, wrong
 * settings), or of a U+0000 that a caller sent, `text_not_storable` (400). Anything else is returned as it came.
 */
export function mapPostgresError(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  if (error instanceof postgres.PostgresError) {
    if (UNAVAILABLE_STATES.has(error.code) || UNAVAILABLE_CLASSES.has(error.code.slice(0, 2)))
      return unavailable(error);
    if (CONTENTION_STATES.has(error.code)) {
      return new AppError({
        code: 'postgres_contention',
        status: 503,
        message: 'the database gave up one of several changes that collided; try again',
        retryable: true,
        retryAfterSeconds: 1,
        cause: error,
      });
    }
    if (REFUSED_STATES.has(error.code)) {
      return refused('PostgreSQL refused the login: check user, password and database name in DATABASE_URL', error);
    }
    if (NOT_STORABLE_STATES.has(error.code))
      return invalidRequest('text must not contain U+0000', null, 'text_not_storable');
    return error;
  }
  if (CONNECTION_CODES.has(code)) return unavailable(error);
  if (CERTIFICATE_CODES.has(code)) {
    return refused(
      `the certificate of the PostgreSQL server does not verify (${code}): name its authority with sslrootcert in DATABASE_URL`,
      error,
    );
  }
  // ENOENT and EACCES mean a file anywhere but in a failed connect: the unix socket.
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

/** Whether this error says that the connection under a query died. */
export function isConnectionLoss(error: unknown): boolean {
  const code = codeOf(error);
  return (
    LOSS_CODES.has(code) ||
    (error instanceof postgres.PostgresError && UNAVAILABLE_STATES.has(code) && code !== '25006')
  );
}

/** Whether a unique constraint refused the row; with `constraint` given, that one (also the name of a unique index). */
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
