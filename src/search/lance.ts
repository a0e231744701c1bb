import { type Connection, connect, Index, type Table } from '@lancedb/lancedb';
import { dependencyDown } from '../platform/errors.ts';
import { CHUNK_SCHEMA } from './chunk-table.ts';

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

/**
 * LanceDB tables, opened once per process and brought up to date on demand. A bucket's first one has the bucket's id for
 * a name; one that takes its place, that and more (`nextTableName`).
 */
export class LanceTables {
  readonly #uri: string;
  #connection: Promise<Connection> | null = null;
  /** Least recently used first. */
  readonly #open = new Map<string, { table: Table; version: number }>();

  /** @param uri directory of the database */
  constructor(uri: string) {
    this.#uri = uri;
  }

  async #connect(): Promise<Connection> {
    this.#connection ??= connect(this.#uri);
    try {
      return await this.#connection;
    } catch (error) {
      this.#connection = null;
      throw dependencyDown('index', 'the search index cannot be opened', error);
    }
  }

  /** The table at `version` or newer; null where none exists. Name and version come from PostgreSQL. */
  async read(name: string, version: number): Promise<Table | null> {
    const cached = this.#open.get(name);
    if (cached) {
      if (cached.version < version) {
        await cached.table.checkoutLatest();
        cached.version = version;
      }
      this.#open.delete(name);
      this.#open.set(name, cached);
      return cached.table;
    }
    const connection = await this.#connect();
    if (!(await connection.tableNames()).includes(name)) return null;
    const table = await connection.openTable(name);
    this.#remember(name, table, version);
    return table;
  }

  /** The table at its very latest, made when missing. Only for the holder of the bucket's writer lock. */
  async write(name: string): Promise<Table> {
    const connection = await this.#connect();
    const cached = this.#open.get(name)?.table;
    if (cached) {
      await cached.checkoutLatest();
      return cached;
    }
    const table = await connection.createEmptyTable(name, CHUNK_SCHEMA, { mode: 'create', existOk: true });
    const indices = await table.listIndices();
    if (!indices.some((index) => index.name === TOKEN_INDEX_NAME)) {
      await table.createIndex('tokens', { config: tokenIndex(), name: TOKEN_INDEX_NAME });
    }
    this.#remember(name, table, await table.version());
    return table;
  }

  async drop(name: string): Promise<void> {
    const connection = await this.#connect();
    this.#open.get(name)?.table.close();
    this.#open.delete(name);
    if ((await connection.tableNames()).includes(name)) await connection.dropTable(name);
  }

  /** Every table that the bucket has or had. */
  async dropAll(bucketId: string): Promise<void> {
    const names = await (await this.#connect()).tableNames();
    for (const name of names) if (name === bucketId || name.startsWith(`${bucketId}_`)) await this.drop(name);
  }

  /** Reaches the database; for health checks. */
  async probe(): Promise<void> {
    await (await this.#connect()).tableNames({ limit: 1 });
  }

  async close(): Promise<void> {
    for (const { table } of this.#open.values()) table.close();
    this.#open.clear();
    if (this.#connection) (await this.#connection.catch(() => null))?.close();
    this.#connection = null;
  }

  #remember(name: string, table: Table, version: number): void {
    this.#open.set(name, { table, version });
    if (this.#open.size <= OPEN_TABLES_MAX) return;
    const [oldest] = this.#open.keys();
    if (oldest === undefined) return;
    // Not closed here: a search may still be reading it. It is freed with its last reference.
    this.#open.delete(oldest);
  }
}
