import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { type AppError, conflict } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { LineFile, StoredFile } from './schema.ts';

/** Name of a file, and the SHA-256 of its stored bytes. */
export type HashedFile = Pick<StoredFile, 'key' | 'sha256'>;

const NEWLINE = 10;
const GZIP_LEVEL = 3;
const LINES_FLUSHED = 256;

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Hash the bytes of a stream. */
export async function hashStream(stream: Readable): Promise<{ sha256: string; sizeBytes: number }> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    hash.update(chunk);
    sizeBytes += chunk.length;
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

/** Compress lines of text into a file of the backup. Read `source` to its end, unless it fails. */
export async function writeLineFile(
  objects: Objects,
  key: string,
  source: Readable,
  signal: AbortSignal,
): Promise<LineFile> {
  let lines = 0;
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) lines++;
      callback(null, chunk);
    },
  });
  const gzip = createGzip({ level: GZIP_LEVEL });
  const body = new PassThrough();
  const [stored] = await settleBoth(objects.put(key, body, { signal }), pipeline(source, counter, gzip, body));
  return { key, size_bytes: stored.sizeBytes, sha256: stored.sha256, lines };
}

/** Await both promises. Throw the first failure after both have settled. */
async function settleBoth<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  let failure: { readonly error: unknown } | null = null;
  const note = (error: unknown) => {
    failure ??= { error };
  };
  first.catch(note);
  second.catch(note);
  const [a, b] = await Promise.allSettled([first, second]);
  if (a.status === 'fulfilled' && b.status === 'fulfilled') return [a.value, b.value];
  throw (failure as { readonly error: unknown } | null)?.error;
}

/** Writes JSON lines into a compressed file of the backup. */
export class JsonLinesWriter {
  readonly #source = new PassThrough();
  readonly #stored: Promise<LineFile>;
  #pending: string[] = [];

  constructor(objects: Objects, key: string, signal: AbortSignal) {
    this.#stored = writeLineFile(objects, key, this.#source, signal);
    this.#stored.catch(() => this.#source.destroy());
  }

  async write(record: unknown): Promise<void> {
    this.#pending.push(JSON.stringify(record));
    if (this.#pending.length >= LINES_FLUSHED) await this.#flush();
  }

  async close(): Promise<LineFile> {
    await this.#flush();
    this.#source.end();
    return this.#stored;
  }

  /** Abandon the file without storing anything. */
  async abandon(error: Error): Promise<void> {
    this.#source.destroy(error);
    await this.#stored.catch(() => undefined);
  }

  async #flush(): Promise<void> {
    if (this.#pending.length === 0) return;
    const text = `${this.#pending.join('\n')}\n`;
    this.#pending = [];
    if (this.#source.destroyed) await this.#stored;
    if (!this.#source.write(text)) await Promise.race([once(this.#source, 'drain'), this.#stored]);
  }
}

/**
 * Stream the text of a compressed file of the backup. The stream fails at its end with AppError `file_changed` (409) if
 * the bytes aren't those that were written, so that a file can't change between its verification and its use.
 */
export function openLineFile(objects: Objects, file: HashedFile, signal: AbortSignal): Readable {
  const hash = createHash('sha256');
  const hasher = new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      hash.update(chunk);
      callback(null, chunk);
    },
  });
  // All bytes that were decompressed are hashed by now, even if the decompression ended before the file.
  const text = new Transform({
    transform: (chunk: Buffer, _encoding, callback) => callback(null, chunk),
    flush: (callback) => callback(hash.digest('hex') === file.sha256 ? null : changed(file)),
  });
  // The text fails with the error of each stream.
  pipeline(objects.stream(file.key, { signal }), hasher, createGunzip(), text).catch((error) =>
    text.destroy(error as Error),
  );
  return text;
}

function changed({ key }: HashedFile): AppError {
  return conflict(
    `${key} was changed while the command ran (its SHA-256 differs); find out who can write there, and run the command again`,
    'file_changed',
  );
}

/** Read the lines of a compressed file of the backup. @throws AppError as `openLineFile` */
export async function* readLines(objects: Objects, file: HashedFile, signal: AbortSignal): AsyncGenerator<string> {
  let rest = '';
  const text = openLineFile(objects, file, signal).setEncoding('utf8');
  for await (const chunk of text as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() as string;
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Check that a file of the backup is unchanged. Return a description of its fault, or null. */
export async function checkFile(objects: Objects, file: StoredFile, signal: AbortSignal): Promise<string | null> {
  const found = await objects.head(file.key, { signal });
  if (found === null) return `${file.key} is missing`;
  if (found.sizeBytes !== file.size_bytes) {
    return `${file.key} has ${found.sizeBytes} bytes, and ${file.size_bytes} were written`;
  }
  const { sha256 } = await hashStream(objects.stream(file.key, { signal }));
  return sha256 === file.sha256 ? null : `${file.key} was changed after it was written (its SHA-256 differs)`;
}

/** Position in a sorted sequence, for looking up keys in ascending order. */
export class SortedCursor<T extends { readonly key: string }> {
  readonly #items: AsyncIterator<T>;
  #current: T | null = null;
  #isAtEnd = false;

  constructor(items: AsyncIterable<T>) {
    this.#items = items[Symbol.asyncIterator]();
  }

  /** Return the item with this key; null if there is none. Keys must not decrease from call to call. */
  async find(key: string): Promise<T | null> {
    while (!this.#isAtEnd && (this.#current === null || this.#current.key < key)) {
      const { done, value } = await this.#items.next();
      this.#isAtEnd = done === true;
      this.#current = done === true ? null : value;
    }
    return this.#current?.key === key ? this.#current : null;
  }

  /** Read the remaining items, for the check at the end of their file. */
  async finish(): Promise<void> {
    while (!this.#isAtEnd) this.#isAtEnd = (await this.#items.next()).done === true;
  }

  async close(): Promise<void> {
    await this.#items.return?.();
  }
}
