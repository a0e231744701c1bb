import type { Readable } from 'node:stream';
import { AppError, tryLater } from '../errors.ts';

/** Length of a written object and the hexadecimal SHA-256 of its bytes. */
export interface StoredObject {
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  /** Opaque tag of the content in this storage. It changes when other bytes are written. */
  readonly tag: string;
}

/**
 * Content of an object: its bytes, or an iterable of blocks such as a stream. A block is no longer used once the next
 * one is requested, so that an iterable can reuse its memory.
 */
export type ObjectBody = Uint8Array | AsyncIterable<Uint8Array>;

export interface NewObject {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Options with a signal that aborts the operation immediately with its reason. */
interface Abortable {
  readonly signal?: AbortSignal;
}

/** Default limit of `get`, which holds the object in memory. */
export const GET_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Storage of original files, chunk artifacts and bulk results. Every driver passes test/conformance/objects.ts.
 *
 * An object exists completely or not at all, and it is durable once its write has resolved. No key may be a folder of
 * another one (`a/b` and `a/b/c`), since some drivers can't store both.
 *
 * Every method throws AppError `objects_unavailable` (503) if the storage doesn't answer, and `object_key_invalid`
 * (500) for a malformed key, which is our bug. When its `signal` aborts, a method throws the reason and leaves no
 * partial object.
 */
export interface Objects {
  /**
   * Write an object, replacing any older one with that key. With `ifAbsent`, a key is written at most once. An abort
   * destroys a stream immediately. Any other pending iterable has to end by itself.
   * @throws AppError `object_exists` (409) with `ifAbsent`; `storage_full` (503); the error of `body`
   */
  put(key: string, body: ObjectBody, options?: { ifAbsent?: boolean; signal?: AbortSignal }): Promise<StoredObject>;

  /**
   * Move a local file into the storage. This process has written and closed it.
   * @throws AppError `storage_full` (503)
   */
  adopt(file: string, key: string): Promise<StoredObject>;

  /** @throws AppError `object_not_found` (404); `object_too_large` (413) above `maxBytes`, by default GET_BYTES_MAX */
  get(key: string, options?: { maxBytes?: number; signal?: AbortSignal }): Promise<Uint8Array>;

  /**
   * Read several small objects in one call. The results are those of `get`, with null for failures.
   * @param options.maxBytes limit for each object; the caller limits their sum
   * @returns null for each object that is missing, too large or unreadable; `get` gives the reason
   */
  getMany(
    keys: readonly string[],
    options?: { maxBytes?: number; signal?: AbortSignal },
  ): Promise<(Uint8Array | null)[]>;

  /**
   * Write several small objects in one call. All are durable once it resolves. If it fails or is aborted, some may be
   * written, each completely.
   * @param objects don't use their bytes afterwards, since they may be moved to a thread
   * @throws AppError `storage_full` (503)
   */
  putMany(objects: readonly NewObject[], options?: Abortable): Promise<void>;

  /**
   * Stream the bytes from `start` to `end`, both inclusive as in an HTTP range; fewer if the object is shorter. A
   * missing object causes an `error` event of the stream: AppError `object_not_found` (404).
   */
  stream(key: string, options?: { start?: number; end?: number; signal?: AbortSignal }): Readable;

  /** Return the size of an object; null if there is none. */
  head(key: string, options?: Abortable): Promise<{ sizeBytes: number } | null>;

  /**
   * Delete an object. A missing one is no error. While a backup is in progress, this waits unless the object is
   * `unreferenced`: no committed row ever referred to it.
   */
  delete(key: string, options?: Abortable & { readonly unreferenced?: boolean }): Promise<void>;

  /** List the objects whose key begins with `prefix` (empty, or ending in `/`), in the byte order of their keys. */
  list(prefix: string, options?: Abortable): AsyncIterable<ListedObject>;

  /** Delete all objects below `prefix`, which ends in `/`. Objects written in the meantime may remain. */
  deletePrefix(prefix: string, options?: Abortable): Promise<void>;

  /** Prepare for writing, so that the first write doesn't have to wait. */
  prepare(): void;

  /** Close connections. Pending operations may fail. */
  close(): Promise<void>;
}

const SEGMENT = '[a-z0-9_-][a-z0-9._-]{0,199}';
const KEY = new RegExp(`^${SEGMENT}(/${SEGMENT})*$`);
const PREFIX = new RegExp(`^(${SEGMENT}/)+$`);
const KEY_CHARACTERS_MAX = 512;

/**
 * Check a key. The server builds keys from its own ids: lower case (some file systems ignore case), digits, `_`, `-`,
 * `.` in segments joined by `/`. No segment begins with a dot. Keys never contain user-supplied names.
 * @throws AppError `object_key_invalid`
 */
export function checkKey(key: string): void {
  if (!isKey(key)) throw invalidKey(key);
}

/** Return true for a valid object key. */
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
    message: `this is not a valid key of an object: ${JSON.stringify(key.slice(0, 80))}`,
  });
}

export function objectNotFound(key: string): AppError {
  return new AppError({ code: 'object_not_found', status: 404, message: `object not found: ${key}` });
}

export function objectExists(key: string): AppError {
  return new AppError({ code: 'object_exists', status: 409, message: `the object already exists: ${key}` });
}

export function objectTooLarge(key: string, sizeBytes: number, maxBytes: number): AppError {
  return new AppError({
    code: 'object_too_large',
    status: 413,
    message: `object ${key} has ${sizeBytes} bytes, more than the maximum of ${maxBytes}`,
  });
}

export function storageFull(cause: unknown): AppError {
  return tryLater('the storage is full: free some space or extend it', 'storage_full', {
    retryAfterSeconds: 60,
    cause,
  });
}
