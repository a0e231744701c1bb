import { opendir, statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import type { Index, Table } from '@lancedb/lancedb';
import { LRUCache } from 'lru-cache';
import { answerWithin } from '../../platform/answer-within.ts';
import { AppError, dependencyDown } from '../../platform/errors.ts';
import { storageFull } from '../../platform/objects/objects.ts';
import { chunkSchema } from './chunk-table.ts';
import { closeWhenIdle } from './close-when-idle.ts';
import { LazyConnection, openAbsentTable, openIfThere } from './lance-connection.ts';
import { loadLance } from './load-lance.ts';

/**
 * Create a full-text index that takes tokens as they are, since `analyser.ts` does all analysis. LanceDB accepts an
 * index object only once, so each table needs a new one.
 */
function tokenIndex(): Index {
  return loadLance().Index.fts({
    baseTokenizer: 'whitespace',
    lowercase: false,
    stem: false,
    removeStopWords: false,
    asciiFolding: false,
    withPosition: false,
  });
}
export const TOKEN_INDEX_NAME = 'tokens_idx';
const READ_TABLES_MAX = 256;
const WRITTEN_TABLES_MAX = 64;
/**
 * Writers' cache size for indexes and file metadata. Every commit adds entries. By default, LanceDB would keep up to 7
 * GB of them, including stale ones.
 */
const WRITER_CACHE_BYTES = 16n * 1024n * 1024n;
/**
 * Number of rows above which a table uses the connection for large tables. The indexes of all small tables share a
 * cache for a few hundred of them. By default, LanceDB would keep up to 7 GB in memory, and every index file open.
 */
const SMALL_ROWS_MAX = 20_000;
const SMALL_CACHE_BYTES = 32n * 1024n * 1024n;
/** Time for searches that started before a table's release to end. */
const RELEASED_MS = 30_000;
/** Default of `search.table_cache_mb`. */
const LARGE_CACHE_BYTES = 1024 * 1024 * 1024;
const METADATA_CACHE_BYTES = 64n * 1024n * 1024n;
/** Free space below which the disk counts as full: less than the largest commit or merge needs. */
const FREE_BYTES_MIN = 32 * 1024 * 1024;
/** Silence after which an object store is probed, and the time limit of the probe. */
const SILENCE_MS = 8_000;

/** Build the keyword index of a table, replacing any existing one. */
export async function buildTokenIndex(table: Table): Promise<void> {
  await table.createIndex('tokens', { config: tokenIndex(), name: TOKEN_INDEX_NAME, replace: true });
}

/**
 * LanceDB tables, opened once per process and updated on demand. A bucket's first table is named after the bucket's id.
 * The name of its replacement starts with the id (`nextTableName`).
 */
export class LanceTables {
  readonly #uri: string;
  readonly #storageOptions: Record<string, string>;
  readonly #silenceMs: number;
  /** Result of the last probe. */
  #isReached = true;
  readonly #reading: LazyConnection;
  readonly #openLarge: () => LazyConnection;
  #readingLarge: LazyConnection;
  /** Functions that will close released tables. */
  readonly #released = new Set<() => Promise<void>>();
  /** Writers' connection. It shares no cache with searches, so commits don't evict data that searches have read. */
  readonly #writing: LazyConnection;
  /** An evicted table is not closed, since a search may still use it. It is freed with its last reference. */
  readonly #readTables = new LRUCache<string, ReadTable>({ max: READ_TABLES_MAX });
  /** Tables open for writing. Eviction doesn't close a table that a writer may still use. */
  readonly #writtenTables = new LRUCache<string, Table>({ max: WRITTEN_TABLES_MAX });

  /**
   * @param uri directory of the database, or `s3://<bucket>/<prefix>`
   * @param storageOptions access to an object store, with LanceDB's option names
   * @param largeCacheBytes cache size for the indexes of large tables
   * @param silenceMs silence after which an object store is probed, and the time limit of the probe
   */
  constructor(
    uri: string,
    storageOptions: Record<string, string> = {},
    largeCacheBytes = LARGE_CACHE_BYTES,
    silenceMs = SILENCE_MS,
  ) {
    this.#uri = uri;
    this.#silenceMs = silenceMs;
    this.#storageOptions = storageOptions;
    const connectWith = (indexBytes: bigint, metadataBytes: bigint) =>
      new LazyConnection(() => {
        const { connect, Session } = loadLance();
        return connect(uri, { storageOptions, session: new Session(indexBytes, metadataBytes) });
      });
    this.#reading = connectWith(SMALL_CACHE_BYTES, SMALL_CACHE_BYTES);
    this.#openLarge = () => connectWith(BigInt(largeCacheBytes), METADATA_CACHE_BYTES);
    this.#readingLarge = this.#openLarge();
    this.#writing = connectWith(WRITER_CACHE_BYTES, WRITER_CACHE_BYTES);
  }

  /** Location for another process to open the same tables. Its storage options may contain secrets. */
  get location(): { readonly uri: string; readonly storageOptions: Record<string, string> } {
    return { uri: this.#uri, storageOptions: this.#storageOptions };
  }

  /**
   * Await work on tables and map its errors, which have no codes in LanceDB. An error becomes `storage_full` if the
   * disk is full, and `index_unavailable` if the database is unreachable.
   *
   * @throws AppError `index_unavailable`, `storage_full` (503); any other error of the work unchanged
   */
  async mapErrors<T>(work: Promise<T>): Promise<T> {
    try {
      return await this.whileReached(work);
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (await this.#isFull()) throw storageFull(error);
      await this.probe();
      throw error;
    }
  }

  /**
   * Await work while the object store answers other requests. LanceDB retries unanswered requests for minutes, during
   * which searches would wait and a writer would hold its bucket's lock. After an error, the work may still complete.
   *
   * @throws AppError `index_unavailable` (503)
   */
  async whileReached<T>(work: Promise<T>): Promise<T> {
    if (this.#isOnDisk) return work;
    const over = new AbortController();
    const watch = async (): Promise<never> => {
      for (;;) {
        await delay(this.#silenceMs, undefined, { signal: over.signal });
        await this.probe();
      }
    };
    try {
      return await Promise.race([work, watch()]);
    } finally {
      over.abort();
    }
  }

  async #isFull(): Promise<boolean> {
    if (!this.#isOnDisk) return false;
    const disk = await statfs(this.#uri).catch(() => null);
    return disk !== null && disk.bavail * disk.bsize < FREE_BYTES_MIN;
  }

  /**
   * Open a table for reading at `version` or newer, as named by PostgreSQL. Return null if it doesn't exist.
   *
   * @throws AppError `index_unavailable` (503)
   */
  openForReading(name: string, version: number): Promise<Table | null> {
    return this.mapErrors(this.#openForReading(name, version));
  }

  async #openForReading(name: string, version: number): Promise<Table | null> {
    const cached = this.#readTables.get(name);
    if (cached) {
      if (cached.version < version) await this.#advance(name, cached, version);
      return cached.table;
    }
    const small = await openIfThere(await this.#reading.get(), name);
    if (small === null) return null;
    if (!(await isLarge(small))) return this.#keep(name, small, false);
    small.close();
    const table = await openIfThere(await this.#readingLarge.get(), name);
    if (table === null) return null;
    await moveTo(table, version);
    return this.#keep(name, table, true);
  }

  async #keep(name: string, table: Table, isOfLarge: boolean): Promise<Table> {
    const version = await table.version();
    this.#readTables.set(name, { table, version, isLarge: isOfLarge, moving: Promise.resolve() });
    return table;
  }

  /**
   * Advance a table that searches share to a version, one search at a time. Otherwise a concurrent search with an older
   * version could move a large table back.
   */
  #advance(name: string, opened: ReadTable, version: number): Promise<void> {
    const move = async () => {
      if (opened.version >= version) return;
      const { table } = opened;
      await (opened.isLarge ? moveTo(table, version) : table.checkoutLatest());
      // After a restore of its directory, a table may be older than PostgreSQL says. Each search then checks again.
      opened.version = await table.version();
      if (opened.isLarge || !(await isLarge(table))) return;
      if (this.#readTables.get(name) === opened) this.#readTables.delete(name);
    };
    const moved = opened.moving.then(move);
    opened.moving = moved.catch(() => undefined);
    return moved;
  }

  /**
   * Open the latest version of a table for writing, and create it if missing. The caller holds the bucket's writer
   * lock.
   *
   * @throws AppError `index_unavailable` (503)
   */
  openForWriting(name: string): Promise<Table> {
    return this.mapErrors(this.#openForWriting(name));
  }

  async #openForWriting(name: string): Promise<Table> {
    const connection = await this.#writing.get();
    const cached = this.#writtenTables.get(name);
    if (cached) {
      await cached.checkoutLatest();
      return cached;
    }
    const options = { mode: 'create', existOk: true } as const;
    const table = closeWhenIdle(await connection.createEmptyTable(name, chunkSchema(), options));
    const indices = await table.listIndices();
    if (!indices.some((index) => index.name === TOKEN_INDEX_NAME)) {
      await buildTokenIndex(table);
    }
    this.#writtenTables.set(name, table);
    return table;
  }

  async has(name: string): Promise<boolean> {
    return (await (await this.#reading.get()).tableNames()).includes(name);
  }

  async drop(name: string): Promise<void> {
    const connection = await this.#reading.get();
    this.#readTables.get(name)?.table.close();
    this.#readTables.delete(name);
    this.#writtenTables.get(name)?.close();
    this.#writtenTables.delete(name);
    if ((await connection.tableNames()).includes(name)) await connection.dropTable(name);
  }

  /**
   * Free the cached indexes of large tables once an in-memory copy serves the searches of one. The connection closes
   * after searches in progress have ended. Later searches read the data again.
   */
  releaseLarge(): void {
    const connection = this.#readingLarge;
    const opened = [...this.#readTables].filter(([, { isLarge: isOfLarge }]) => isOfLarge);
    for (const [name] of opened) this.#readTables.delete(name);
    this.#readingLarge = this.#openLarge();
    const close = async () => {
      if (!this.#released.delete(close)) return;
      for (const [, { table }] of opened) table.close();
      await connection.close();
    };
    this.#released.add(close);
    setTimeout(close, RELEASED_MS).unref();
  }

  /** Drop every current and former table of the bucket. */
  async dropAll(bucketId: string): Promise<void> {
    const names = await (await this.#reading.get()).tableNames();
    for (const name of names) if (name === bucketId || name.startsWith(`${bucketId}_`)) await this.drop(name);
  }

  /** Check that the database answers, for health checks. @throws AppError `index_unavailable` (503) */
  async probe(): Promise<void> {
    const ask = async () => {
      const connection = await this.#reading.get();
      await (this.#isOnDisk ? readOneEntry(this.#uri) : openAbsentTable(connection));
    };
    try {
      await answerWithin(this.#silenceMs, ask());
      this.#isReached = true;
    } catch (error) {
      this.#isReached = false;
      // Drop the cached tables: users of a table with an unanswered request would wait for that request.
      this.#readTables.clear();
      this.#writtenTables.clear();
      if (error instanceof AppError) throw error;
      throw dependencyDown('index', 'the search index is not reachable', error);
    }
  }

  /** Probe the database again if the last probe failed. @throws AppError `index_unavailable` (503) */
  async requireReach(): Promise<void> {
    if (!this.#isReached) await this.probe();
  }

  get #isOnDisk(): boolean {
    return !this.#uri.includes('://');
  }

  async close(): Promise<void> {
    for (const { table } of this.#readTables.values()) table.close();
    this.#readTables.clear();
    for (const table of this.#writtenTables.values()) table.close();
    this.#writtenTables.clear();
    for (const closeReleased of [...this.#released]) await closeReleased();
    for (const connection of [this.#reading, this.#readingLarge, this.#writing]) await connection.close();
  }
}

interface ReadTable {
  readonly table: Table;
  /** Version at which the table is open. */
  version: number;
  /** Last move to a newer version, possibly in progress. It never rejects. */
  moving: Promise<void>;
  /** True if the table uses the connection for large tables. */
  readonly isLarge: boolean;
}

async function isLarge(table: Table): Promise<boolean> {
  return (await table.countRows()) > SMALL_ROWS_MAX;
}

/**
 * Check out a version of a large table, or the latest one if that version was deleted. Unpublished versions may lack
 * the vector index while the table is being settled.
 */
async function moveTo(table: Table, version: number): Promise<void> {
  await table.checkout(version).catch(() => table.checkoutLatest());
}

/** Check that a directory is readable by reading one entry. LanceDB would read all of it. */
async function readOneEntry(directory: string): Promise<void> {
  const opened = await opendir(directory);
  try {
    await opened.read();
  } finally {
    await opened.close();
  }
}
