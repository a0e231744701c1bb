import type { Table } from '@lancedb/lancedb';
import { awaitLater } from '../../platform/await-later.ts';
import type { TableSize } from '../../resident/protocol.ts';
import type { ResidentThread } from '../../resident/resident-thread.ts';
import { type AddressedKeys, largest, readKeys, readRows, takeRows, withoutFirst } from './read-rows.ts';

const EMPTY: TableSize = { rows: 0, removedRows: 0, memoryBytes: 0 };

/** Copy of a LanceDB table in the memory of a thread. */
export class TableCopy {
  readonly name: string;
  /** Id of the table in its thread. */
  readonly number: number;
  readonly thread: ResidentThread;
  readonly #scratchIn: string | null;
  readonly #onSize: () => void;
  #size = EMPTY;
  #version = -1;
  /** Largest row address in the copy. */
  #lastRowId = -1n;

  /**
   * @param own.scratchIn directory for the files of a large table, which hold most of its content; null for a small
   *   table
   * @param own.onSize called when the size changes, and when the table has been read
   */
  constructor(
    name: string,
    own: {
      readonly number: number;
      readonly thread: ResidentThread;
      readonly scratchIn: string | null;
      readonly onSize: () => void;
    },
  ) {
    this.name = name;
    this.number = own.number;
    this.thread = own.thread;
    this.#scratchIn = own.scratchIn;
    this.#onSize = own.onSize;
  }

  get isLarge(): boolean {
    return this.#scratchIn !== null;
  }

  get size(): TableSize {
    return this.#size;
  }

  /** Minimum table version that the copy includes; -1 until the table has been read. */
  get version(): number {
    return this.#version;
  }

  /**
   * Read all rows.
   *
   * @param table table at `version` or newer; older ones are refused
   * @throws RangeError if the rows need more memory than `maxBytes`
   */
  async fill(table: Table, version: number, maxBytes: number): Promise<void> {
    const latest = await requireVersion(table, version);
    const { number, thread } = this;
    const creating = thread.call('create', { table: number, scratchIn: this.#scratchIn });
    // Add rows while reading the next ones. Reading may fail before the creation is awaited.
    let adding = awaitLater(creating.then(() => EMPTY));
    const added = async () => {
      this.#resize(await adding);
      if (this.#size.memoryBytes > maxBytes)
        throw new RangeError(`a table takes more than ${maxBytes} bytes of memory`);
    };
    for await (const { batch, lastRowId } of readRows(table)) {
      await added();
      adding = awaitLater(thread.call('add', { table: number, batch }));
      if (lastRowId > this.#lastRowId) this.#lastRowId = lastRowId;
    }
    await added();
    this.#version = latest;
    this.#onSize();
  }

  /**
   * Read the rows appended since the last read. Removed rows stay until `removeGone`; searches skip them, since their
   * generation is not active.
   *
   * @param table as for `fill`
   */
  async update(table: Table, version: number): Promise<void> {
    // The table may already be at a newer version.
    const latest = await requireVersion(table, version);
    if (!(await this.#addAppended(table))) await this.#addUnknown(table, await readKeys(table, this.#lastRowId));
    this.#version = latest;
  }

  /** Return true if the copy has rows that the table lacks. @param table table at the version of the copy */
  async hasGone(table: Table): Promise<boolean> {
    return (await table.countRows()) !== this.#size.rows - this.#size.removedRows;
  }

  /**
   * Remove the rows that the table no longer contains, and erase their texts. @param table table at the version of the
   * copy or newer
   */
  async removeGone(table: Table): Promise<void> {
    // Ignore rows that are added while the keys are being read.
    const { rows } = this.#size;
    const { generations, chunkIndexes } = await readKeys(table, null);
    const keys = { generations, chunkIndexes };
    this.#resize(await this.thread.call('keepOnly', { table: this.number, keys, rows }));
  }

  /** Release the memory. */
  async drop(): Promise<void> {
    await this.thread.call('drop', { table: this.number });
  }

  #resize(size: TableSize): void {
    this.#size = size;
    this.#onSize();
  }

  /**
   * Append the rows that follow the copy's last row, which is much faster than reading all keys. Start reading at the
   * last row: if it is not at its position, rows were removed or moved.
   *
   * @returns false, without adding rows, if the last row is not at its position
   */
  async #addAppended(table: Table): Promise<boolean> {
    const { rows, removedRows } = this.#size;
    const place = rows - removedRows - 1;
    if (place < 0) return false;
    let isInPlace = false;
    for await (const { batch, firstRowId, lastRowId } of readRows(table, place)) {
      if (!isInPlace && firstRowId !== this.#lastRowId) return false;
      const added = isInPlace ? batch : withoutFirst(batch);
      isInPlace = true;
      if (added.count > 0) this.#resize(await this.thread.call('add', { table: this.number, batch: added }));
      this.#lastRowId = lastRowId;
    }
    return isInPlace;
  }

  async #addUnknown(table: Table, { rowIds, generations, chunkIndexes }: AddressedKeys): Promise<void> {
    if (rowIds.length === 0) return;
    const { number, thread } = this;
    const unknown = await thread.call('findUnknown', { table: number, keys: { generations, chunkIndexes } });
    if (unknown.length > 0) {
      const wanted = Array.from(unknown, (at) => rowIds[at] as bigint);
      for await (const batch of takeRows(table, wanted))
        this.#resize(await thread.call('add', { table: number, batch }));
    }
    const last = largest(rowIds);
    if (last > this.#lastRowId) this.#lastRowId = last;
  }
}

/** Return the version of a table. Throw if it is older than `wanted`. */
async function requireVersion(table: Table, wanted: number): Promise<number> {
  const version = await table.version();
  if (version < wanted) throw new Error(`the table is at version ${version}, before version ${wanted}`);
  return version;
}
