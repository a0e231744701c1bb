import type { Readable } from 'node:stream';
import { AppError } from '../errors.ts';

/** Length of a written object and the SHA-256 of its bytes in hexadecimal. */
export interface StoredObject {
  readonly sizeBytes: number;
  readonly sha256: string;
}

export interface ListedObject {
  readonly key: string;
  readonly sizeBytes: number;
  /** Opaque tag of this content in this storage. It differs once the object has been written with other bytes. */
  readonly tag: string;
}

/**
 * Content of an object: its bytes, or an iterable of blocks such as a stream. A block is no longer used once the next
 * one is requested, so that an iterable can fill the same memory again.
 */
export type ObjectBody = Uint8Array | AsyncIterable<Uint8Array>;

export interface NewObject {
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Options with a signal that ends the operation at once with its reason. */
interface Abortable {
  readonly signal?: AbortSignal;
}

/** Default limit of `get`, which holds the object in memory. */
export const GET_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Storage of original files, chunk artifacts and bulk results. Every driver passes test/conformance/objects.ts.
 *
 * An object exists completely or not at all, and it is durable once its write has resolved. No key may be a folder of
 * another one (`a/b` and `a/b/c`), since some drivers cannot store both.
 *
 * Every method throws AppError `objects_unavailable` (503) if the storage does not answer, and `object_key_invalid`
 * (500) for a key that does not match the pattern, which is a fault of ours. When its `signal` aborts, a method throws
 * the reason and leaves no partial object.
 */
export interface Objects {
  /**
   * Write an object, replacing any older one of that key. With `ifAbsent` a key is written at most once. An aborted
   * signal destroys a stream at once; any other iterable that waits has to end by itself.
   * @throws AppError `object_exists` (409) with `ifAbsent`; `storage_full` (503); the error of `body`
   */
  put(key: string, body: ObjectBody, options?: { ifAbsent?: boolean; signal?: AbortSignal }): Promise<StoredObject>;

  /**
   * Move a local file that this process has written and closed into the storage.
   * @throws AppError `storage_full` (503)
   */
  adopt(file: string, key: string): Promise<StoredObject>;

  /** @throws AppError `object_not_found` (404); `object_too_large` (413) above `maxBytes`, by default GET_BYTES_MAX */
  get(key: string, options?: { maxBytes?: number; signal?: AbortSignal }): Promise<Uint8Array>;

  /**
   * Read several small objects, as `get` would one by one.
   * @param options.maxBytes limit for each object; the caller limits their sum
   * @returns null in place of an object that is missing, too large or unread; `get` gives the reason
   */
  getMany(
    keys: readonly string[],
    options?: { maxBytes?: number; signal?: AbortSignal },
  ): Promise<(Uint8Array | null)[]>;

  /**
   * Write several small objects, as `put` would one by one. All of them are durable once this has resolved. If it
   * fails, or its signal aborts, some of them may be written, each completely.
   * @param objects their bytes must not be used afterwards, since they may be moved to a thread
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
   * Delete an object. A missing one is no error. While a backup is made, this waits unless the object is
   * `unreferenced`: no row that was ever committed refers to it.
   */
  delete(key: string, options?: Abortable & { readonly unreferenced?: boolean }): Promise<void>;

  /** List the objects whose key begins with `prefix` (empty, or ending in `/`), in the byte order of their keys. */
  list(prefix: string, options?: Abortable): AsyncIterable<ListedObject>;

  /** Delete all objects below `prefix`, which ends in `/`. Objects written in the meantime may remain. */
  deletePrefix(prefix: string, options?: Abortable): Promise<void>;

  /** Prepare for the first write, so that it does not wait. */
  prepare(): void;

  /** Close connections. Pending operations may fail. */
  close(): Promise<void>;
}

const SEGMENT = '[a-z0-9_-][a-z0-9._-]{0,199}';
const KEY = new RegExp(`^${SEGMENT}(/${SEGMENT})*$`);
const PREFIX = new RegExp(`^(${SEGMENT}/)+$`);
const KEY_CHARACTERS_MAX = 512;

/**
 * Check a key. The server makes keys from its own ids: lower case (some file systems ignore case), digits, `_`, `-`,
 * `.` in segments joined by `/`. No segment begins with a dot. Keys never contain names given by users.
 * @throws AppError `object_key_invalid`
 */
export function checkKey(key: string): void {
  if (!isKey(key)) throw invalidKey(key);
}

/** Return true if an object may have this key. */
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
  return new AppError({
    code: 'storage_full',
    status: 503,
    message: 'the storage is full: free some space or extend it',
    retryable: true,
    retryAfterSeconds: 60,
    cause,
  });
}
