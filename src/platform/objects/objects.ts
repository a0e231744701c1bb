import type { Readable } from 'node:stream';
import { AppError } from '../errors.ts';

/** What was written: its length and the SHA-256 of its bytes, in hexadecimal. */
export interface StoredObject {
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
}

/** Its abort ends the work at once, with the signal's reason. */
interface Abortable {
  readonly signal?: AbortSignal;
}

/** `get` holds an object in memory: this much, unless the caller says otherwise. */
export const GET_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Storage of original files, chunk artifacts and bulk results. Every driver passes test/conformance/objects.ts.
 *
 * An object is there whole or not at all, and once a write has resolved it is durable. No key is a folder of
 * another one (`a/b` beside `a/b/c`): not every driver could hold both.
 *
 * Every method throws AppError `objects_unavailable` (503) when the storage is out of reach, and
 * `object_key_invalid` (500) for a key that breaks the pattern, which is a fault of ours; and the reason of its
 * `signal`, with nothing half written.
 */
export interface Objects {
  /**
   * Write an object, in place of an older one of that key. With `ifAbsent` it is written at most once.
   *
   * @throws AppError `object_exists` (409) with `ifAbsent`; `storage_full` (503); what `body` fails with
   */
  put(
    key: string,
    body: Uint8Array | Readable,
    options?: { ifAbsent?: boolean; signal?: AbortSignal },
  ): Promise<StoredObject>;

  /**
   * Take over a local file that this process has written and closed; afterwards the file is gone from its place.
   *
   * @throws AppError `storage_full` (503)
   */
  adopt(file: string, key: string): Promise<StoredObject>;

  /** @throws AppError `object_not_found` (404); `object_too_large` (413) above `maxBytes`, by default GET_BYTES_MAX */
  get(key: string, options?: { maxBytes?: number; signal?: AbortSignal }): Promise<Uint8Array>;

  /**
   * The bytes from `start` to `end`, both included as in an HTTP range; less where the object is shorter. A missing
   * object is an `error` event of the stream: AppError `object_not_found` (404).
   */
  stream(key: string, options?: { start?: number; end?: number; signal?: AbortSignal }): Readable;

  /** Null: there is none. */
  head(key: string, options?: Abortable): Promise<{ sizeBytes: number } | null>;

  /** Deleting what is not there is fine. */
  delete(key: string, options?: Abortable): Promise<void>;

  /** Objects whose key begins with `prefix` (empty, or ending in `/`), in the order of their keys' bytes. */
  list(prefix: string, options?: Abortable): AsyncIterable<ListedObject>;

  /** Delete everything below `prefix`, which ends in `/`. Objects written meanwhile may survive. */
  deletePrefix(prefix: string, options?: Abortable): Promise<void>;

  /** Let go of connections; whatever is under way may fail. */
  close(): Promise<void>;
}

const SEGMENT = '[a-z0-9_-][a-z0-9._-]{0,199}';
const KEY = new RegExp(`^${SEGMENT}(/${SEGMENT})*$`);
const PREFIX = new RegExp(`^(${SEGMENT}/)+$`);
const KEY_CHARACTERS_MAX = 512;

/**
 * Keys are made by the server, from its own ids: lower case (some file systems do not tell cases apart), digits,
 * `_`, `-`, `.` in segments joined by `/`; no segment begins with a dot. Names given by users never go in.
 *
 * @throws AppError `object_key_invalid`
 */
export function checkKey(key: string): void {
  if (!isKey(key)) throw invalidKey(key);
}

/** Whether an object may have this key. */
export function isKey(key: string): boolean {
  return key.length <= KEY_CHARACTERS_MAX && KEY.test(key);
}

/** @throws AppError `object_key_invalid` */
export function checkPrefix(prefix: string): void {
  if (prefix.length > KEY_CHARACTERS_MAX || !PREFIX.test(prefix)) throw invalidKey(prefix);
}

function invalidKey(key: string): AppError {
  return new AppError({
    code: 'object_key_invalid',
    status: 500,
    message: `not a key of an object: ${JSON.stringify(key.slice(0, 80))}`,
  });
}

export function objectNotFound(key: string): AppError {
  return new AppError({ code: 'object_not_found', status: 404, message: `object not found: ${key}` });
}

export function objectExists(key: string): AppError {
  return new AppError({ code: 'object_exists', status: 409, message: `there is an object already: ${key}` });
}

export function objectTooLarge(key: string, sizeBytes: number, maxBytes: number): AppError {
  return new AppError({
    code: 'object_too_large',
    status: 413,
    message: `object ${key} has ${sizeBytes} bytes, more than the ${maxBytes} that fit here`,
  });
}

export function storageFull(cause: unknown): AppError {
  return new AppError({
    code: 'storage_full',
    status: 503,
    message: 'the storage is full: free some space or extend it',
    retryable: true,
    retryAfterSeconds: 60,
    cause,
  });
}
