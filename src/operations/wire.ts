import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../platform/errors.ts';

/**
 * Message from a command to the server of its data directory. The command sends the secret, a space, and one line of
 * JSON (`Request`). The server sends one line of JSON (`Reply`) and closes the connection. If a line announces a body,
 * the body follows it (`SocketReader.readBody`).
 */
export interface Request {
  /** Version of the command. A server with another version refuses it. */
  readonly version: string;
  readonly operation: string;
  readonly input: unknown;
  readonly org: string;
  readonly osUser: string;
  readonly hasBody: boolean;
}

export type Reply = { readonly result: unknown; readonly hasBody: boolean } | { readonly error: SentError };

interface SentError {
  readonly code: string;
  readonly status: number;
  readonly message: string;
  readonly param?: string | null;
  readonly details?: Record<string, unknown> | undefined;
  readonly retryable?: boolean;
  readonly retryAfterSeconds?: number | undefined;
}

/** Error codes that make a command open the installation itself. */
export const UNKNOWN_OPERATION = 'operation_unknown';
export const OTHER_VERSION = 'version_differs';

/** Render an error for the command. Other errors than AppErrors keep their message, since only the operator sees it. */
export function renderFailure(error: unknown): { readonly error: SentError } {
  if (!(error instanceof AppError)) {
    return {
      error: { code: 'internal', status: 500, message: error instanceof Error ? error.message : String(error) },
    };
  }
  const { code, status, message, param, details, retryable, retryAfterSeconds } = error;
  return { error: { code, status, message, param, details, retryable, retryAfterSeconds } };
}

/** Return the result of a reply. @throws AppError that the server sent */
export function readReply(reply: { readonly result: unknown } | { readonly error: SentError }): unknown {
  if (!('error' in reply)) return reply.result;
  const { details, retryAfterSeconds, ...error } = reply.error;
  throw new AppError({
    ...error,
    ...(details === undefined ? {} : { details }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}

/** Compare secrets in constant time. */
export function isSecret(given: Buffer, secret: string): boolean {
  const expected = Buffer.from(secret);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Return a value as it is after JSON serialisation. */
export function throughJson<T>(value: T): T {
  return value === undefined ? (null as T) : JSON.parse(JSON.stringify(value));
}
