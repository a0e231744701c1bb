import { statfs } from 'node:fs/promises';
import { type Connection, connect, Index, Session, type Table } from '@lancedb/lancedb';
import { LRUCache } from 'lru-cache';
import { AppError, dependencyDown } from '../platform/errors.ts';
import { storageFull } from '../platform/objects/objects.ts';
import { CHUNK_SCHEMA } from './chunk-table.ts';
import { bindLance } from './lance-environment.ts';

/**
 * The analysed text is matched token by token: all analysis is ours (`analyser.ts`). A new one for each table, since
 * LanceDB takes each once.
 */
function tokenIndex(): Index {
  return Index.fts({
    baseTokenizer: 'whitespace',
    lowercase: false,
    stem: false,
    removeStopWords: false,
    asciiFolding: false,
    withPosition: false,
  });
}
export const TOKEN_INDEX_NAME = 'tokens_idx';
const OPEN_TABLES_MAX = 256;
const WRITTEN_TABLES_MAX = 64;
/**
 * What writing keeps of indexes, and of descriptions of files. Each commit makes new ones, and LanceDB would keep up to
 * 7 GB of them beside the old ones.
 */
const WRITER_CACHE_BYTES = 16n * 1024n * 1024n;
/** A commit of the most rows, and the merging of fragments, take more than this. */
const ROOM_BYTES_MIN = 32 * 1024 * 1024;

/** Build the keyword index of a table, in place of the one that it has. */
export async function buildTokenIndex(table: Table): Promise<void> {
  await table.createIndex('tokens', { config: tokenIndex(), name: TOKEN_INDEX_NAME, replace: true });
}

/**
 * LanceDB tables, opened once per process and brought up to date on demand. A bucket's first one has the bucket's id for
 * a name; one that takes its place, that and more (`nextTableName`).
 */
export class LanceTables {
  readonly #uri: string;
  readonly #storageOptions: Record<string, string>;
  readonly #reading: LazyConnection;
  /** It shares no memory with searches, which keep what they have read. */
  readonly #writing: LazyConnection;
  /** A table that falls out is not closed: a search may still be at it. It is freed with its last reference. */
  readonly #open = new LRUCache<string, { table: Table; version: number }>({ max: OPEN_TABLES_MAX });
  /** The same holds here for a writer. */
  readonly #written = new LRUCache<string, Table>({ max: WRITTEN_TABLES_MAX });

  /**
   * @param uri directory of the database, or `s3://<bucket>/<prefix>`
   * @param storageOptions how to reach a store of objects, in the words of LanceDB
   */
  constructor(uri: string, storageOptions: Record<string, string> = {}) {
    this.#uri = uri;
    this.#storageOptions = storageOptions;
    this.#reading = new LazyConnection(() => connect(uri, { storageOptions }));
    this.#writing = new LazyConnection(() =>
      connect(uri, { storageOptions, session: new Session(WRITER_CACHE_BYTES, WRITER_CACHE_BYTES) }),
    );
  }

  /** What another process needs to open the same tables; its storage options may hold secrets. */
  get place(): { readonly uri: string; readonly storageOptions: Record<string, string> } {
    return { uri: this.#uri, storageOptions: this.#storageOptions };
  }

  /**
   * The outcome of work on tables. LanceDB's faults have no codes: one that comes while the database is out of reach, or
   * its disk has no room, is said to come from that.
   *
   * @throws AppError `index_unavailable`, `storage_full` (503), what the work fails with
   */
  async reach<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof AppError) throw error;
      if (await this.#isFull()) throw storageFull(error);
      await this.probe();
      throw error;
    }
  }

  async #isFull(): Promise<boolean> {
    if (this.#uri.includes('://')) return false;
    const disk = await statfs(this.#uri).catch(() => null);
    return disk !== null && disk.bavail * disk.bsize < ROOM_BYTES_MIN;
  }

  /**
   * The table at `version` or newer; null where none exists. Name and version come from PostgreSQL.
   *
   * @throws AppError `index_unavailable` (503)
   */
  read(name: string, version: number): Promise<Table | null> {
    return this.reach(this.#read(name, version));
  }

  async #read(name: string, version: number): Promise<Table | null> {
    const cached = this.#open.get(name);
    if (cached) {
      if (cached.version < version) {
        await cached.table.checkoutLatest();
        cached.version = version;
      }
      return cached.table;
    }
    const connection = await this.#reading.get();
    if (!(await connection.tableNames()).includes(name)) return null;
    const table = await connection.openTable(name);
    this.#open.set(name, { table, version });
    return table;
  }

  /**
   * The table at its very latest, made when missing. Only for the holder of the bucket's writer lock.
   *
   * @throws AppError `index_unavailable` (503)
   */
  write(name: string): Promise<Table> {
    return this.reach(this.#write(name));
  }

  async #write(name: string): Promise<Table> {
    const connection = await this.#writing.get();
    const held = this.#written.get(name);
    if (held) {
      await held.checkoutLatest();
      return held;
    }
    const table = await connection.createEmptyTable(name, CHUNK_SCHEMA, { mode: 'create', existOk: true });
    const indices = await table.listIndices();
    if (!indices.some((index) => index.name === TOKEN_INDEX_NAME)) {
      await buildTokenIndex(table);
    }
    this.#written.set(name, table);
    return table;
  }

  async has(name: string): Promise<boolean> {
    return (await (await this.#reading.get()).tableNames()).includes(name);
  }

  async drop(name: string): Promise<void> {
    const connection = await this.#reading.get();
    this.#open.get(name)?.table.close();
    this.#open.delete(name);
    this.#written.get(name)?.close();
    this.#written.delete(name);
    if ((await connection.tableNames()).includes(name)) await connection.dropTable(name);
  }

  /** Every table that the bucket has or had. */
  async dropAll(bucketId: string): Promise<void> {
    const names = await (await this.#reading.get()).tableNames();
    for (const name of names) if (name === bucketId || name.startsWith(`${bucketId}_`)) await this.drop(name);
  }

  /** Reaches the database; for health checks. @throws AppError `index_unavailable` (503) */
  async probe(): Promise<void> {
    const connection = await this.#reading.get();
    await connection.tableNames({ limit: 1 }).catch((error: unknown) => {
      throw dependencyDown('index', 'the search index is out of reach', error);
    });
  }

  async close(): Promise<void> {
    for (const { table } of this.#open.values()) table.close();
    this.#open.clear();
    for (const table of this.#written.values()) table.close();
    this.#written.clear();
    await this.#reading.close();
    await this.#writing.close();
  }
}

/** A connection that is opened when it is first asked for, and again where that failed. */
class LazyConnection {
  readonly #open: () => Promise<Connection>;
  #connection: Promise<Connection> | null = null;

  constructor(open: () => Promise<Connection>) {
    this.#open = open;
  }

  /** @throws AppError `index_unavailable` (503) */
  async get(): Promise<Connection> {
    bindLance();
    this.#connection ??= this.#open();
    try {
      return await this.#connection;
    } catch (error) {
      this.#connection = null;
      throw dependencyDown('index', 'the search index cannot be opened', error);
    }
  }

  async close(): Promise<void> {
    (await this.#connection?.catch(() => null))?.close();
    this.#connection = null;
  }
}
