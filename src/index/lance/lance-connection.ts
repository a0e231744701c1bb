import type { Connection, Table } from '@lancedb/lancedb';
import { dependencyDown } from '../../platform/errors.ts';
import { closeWhenIdle } from './close-when-idle.ts';
import { bindLance } from './lance-environment.ts';

/** Name that no table can have, since table names start with a bucket id. */
const ABSENT_TABLE = 'probe';

/** Connection opened on first use, and again on the next use after a failure. */
export class LazyConnection {
  readonly #open: () => Promise<Connection>;
  #connection: Promise<Connection> | null = null;

  constructor(open: () => Promise<Connection>) {
    this.#open = open;
  }

  /** @throws AppError `index_unavailable` (503) */
  async get(): Promise<Connection> {
    bindLance();
    this.#connection ??= this.#open().then(closeWhenIdle);
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

/**
 * Open a table, or return null if it doesn't exist. List the tables only if opening fails, since listing takes time for
 * each table.
 */
export async function openIfThere(connection: Connection, name: string): Promise<Table | null> {
  try {
    return closeWhenIdle(await connection.openTable(name));
  } catch (error) {
    if ((await connection.tableNames()).includes(name)) throw error;
    return null;
  }
}

/**
 * Check with a single request that an object store answers: open a table that doesn't exist. Listing the tables would
 * need one request per thousand tables, whatever the limit.
 */
export async function openAbsentTable(connection: Connection): Promise<void> {
  try {
    await connection.openTable(ABSENT_TABLE);
  } catch (error) {
    // LanceDB's errors have no codes.
    if (!String(error).includes(`Table '${ABSENT_TABLE}' was not found`)) throw error;
  }
}
