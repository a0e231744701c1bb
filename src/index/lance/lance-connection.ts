import type { Connection, Table } from '@lancedb/lancedb';
import { dependencyDown } from '../../platform/errors.ts';
import { closeWhenIdle } from './close-when-idle.ts';
import { bindLance } from './lance-environment.ts';

/** Name that no table has, since tables are named by the ids of their buckets. */
const ABSENT_TABLE = 'probe';

/** Connection that is opened on first use, and again after a failed attempt. */
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

/** Open a table; null if it does not exist. The tables are listed, which takes time for each, only if that fails. */
export async function openIfThere(connection: Connection, name: string): Promise<Table | null> {
  try {
    return closeWhenIdle(await connection.openTable(name));
  } catch (error) {
    if ((await connection.tableNames()).includes(name)) throw error;
    return null;
  }
}

/**
 * Check that an object store answers, by one request: opening a table that does not exist. A list of the tables takes a
 * request for each thousand of them, whatever the limit.
 */
export async function openAbsentTable(connection: Connection): Promise<void> {
  try {
    await connection.openTable(ABSENT_TABLE);
  } catch (error) {
    // LanceDB's errors have no codes.
    if (!String(error).includes(`Table '${ABSENT_TABLE}' was not found`)) throw error;
  }
}
