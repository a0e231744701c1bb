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
 * Make a full-text index that matches tokens as they are, since `analyser.ts` does all analysis. LanceDB accepts an
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
 * Cache sizes of writers, for indexes and for file metadata. Each commit makes new entries. By default, LanceDB would
 * keep up to 7 GB of entries, including the old ones.
 */
const WRITER_CACHE_BYTES = 16n * 1024n * 1024n;
/**
 * Number of rows above which a table is read through the connection for large tables. The indexes of all small tables
 * share a cache for some hundred of them. By default, LanceDB would keep up to 7 GB in memory, and the files of each
 * index open.
 */
const SMALL_ROWS_MAX = 20_000;
const SMALL_CACHE_BYTES = 32n * 1024n * 1024n;
/** Time in which searches end that began before their table was released. */
const RELEASED_MS = 30_000;
/** Default of `search.table_cache_mb`. */
const LARGE_CACHE_BYTES = 1024 * 1024 * 1024;
const METADATA_CACHE_BYTES = 64n * 1024n * 1024n;
/** Free disk space below which the disk counts as full. The largest commit, or a merge of fragments, takes more. */
const FREE_BYTES_MIN = 32 * 1024 * 1024;
/** Time without an answer after which a probe tests an object store, and the time limit of the probe. */
const SILENCE_MS = 8_000;

/** Build the keyword index of a table, in place of the present one. */
export async function buildTokenIndex(table: Table): Promise<void> {
  await table.createIndex('tokens', { config: tokenIndex(), name: TOKEN_INDEX_NAME, replace: true });
}

/**
 * LanceDB tables, opened once per process and brought up to date on demand. The first table of a bucket has the
 * bucket's id as its name. The name of a table that replaces it begins with the id (`nextTableName`).
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
  /** Functions that close released tables later. */
  readonly #released = new Set<() => Promise<void>>();
  /**
   * Connection of writers. It shares no cache with searches, so commits do not evict the data that searches have read.
   */
  readonly #writing: LazyConnection;
  /** An evicted table is not closed, since a search may still use it. It is freed with its last reference. */
  readonly #readTables = new LRUCache<string, ReadTable>({ max: READ_TABLES_MAX });
  /** An evicted table is not closed, since a writer may still use it. */
  readonly #writtenTables = new LRUCache<string, Table>({ max: WRITTEN_TABLES_MAX });

  /**
   * @param uri directory of the database, or `s3://<bucket>/<prefix>`
   * @param storageOptions access to an object store, by the option names of LanceDB
   * @param largeCacheBytes cache size for the indexes of large tables
   * @param silenceMs time without an answer after which an object store is probed, and the time limit of the probe
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

  /** Location from which another process opens the same tables. Its storage options may hold secrets. */
  get location(): { readonly uri: string; readonly storageOptions: Record<string, string> } {
    return { uri: this.#uri, storageOptions: this.#storageOptions };
  }

  /**
   * Await work on tables and map its errors. LanceDB's errors have no codes. An error while the disk is full becomes
   * `storage_full`. An error while the database cannot be reached becomes `index_unavailable`.
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
   * Await work as long as the object store answers other requests. After an error, the work may still complete later.
   * LanceDB repeats unanswered requests for minutes. Meanwhile searches would wait, and a writer would hold the lock of
   * its bucket.
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
   * Open a table for reading, at `version` or newer, or return null if it does not exist. Name and version come from
   * PostgreSQL.
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
   * Bring a table that searches share to a version, one search after the other. Otherwise, of two searches of a large
   * table, the one with the older version would move it back.
   */
  #advance(name: string, opened: ReadTable, version: number): Promise<void> {
    const move = async () => {
      if (opened.version >= version) return;
      const { table } = opened;
      await (opened.isLarge ? moveTo(table, version) : table.checkoutLatest());
      // After its directory was restored, a table may be older than PostgreSQL says. Each search then looks again.
      opened.version = await table.version();
      if (opened.isLarge || !(await isLarge(table))) return;
      if (this.#readTables.get(name) === opened) this.#readTables.delete(name);
    };
    const moved = opened.moving.then(move);
    opened.moving = moved.catch(() => undefined);
    return moved;
  }

  /**
   * Open the latest version of a table for writing. Create the table if it is missing. The caller holds the bucket's
   * writer lock.
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
   * Free the cached indexes of large tables once a copy in memory serves the searches of one. Searches in progress end
   * before the connection closes. Later ones read the data again.
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

  /** Drop every present and former table of the bucket. */
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
      // If a request of a table has no answer, every later user of the table would wait for it.
      this.#readTables.clear();
      this.#writtenTables.clear();
      if (error instanceof AppError) throw error;
      throw dependencyDown('index', 'the search index is out of reach', error);
    }
  }

  /** Probe the database again if the last probe has failed. @throws AppError `index_unavailable` (503) */
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
  /** Actual version of the table. */
  version: number;
  /** Last move to a newer version. It may be in progress, and never rejects. */
  moving: Promise<void>;
  /** True if the table uses the connection for large tables. */
  readonly isLarge: boolean;
}

async function isLarge(table: Table): Promise<boolean> {
  return (await table.countRows()) > SMALL_ROWS_MAX;
}

/**
 * Let a large table be read at a version, or at the latest one if that version has been removed. Unpublished versions
 * may lack the vector index while the table is settled.
 */
async function moveTo(table: Table, version: number): Promise<void> {
  await table.checkout(version).catch(() => table.checkoutLatest());
}

/** Check that a directory can be read. LanceDB would read all of it. */
async function readOneEntry(directory: string): Promise<void> {
  const opened = await opendir(directory);
  try {
    await opened.read();
  } finally {
    await opened.close();
  }
}
