import type { Table } from '@lancedb/lancedb';
import { awaitLater } from '../../platform/await-later.ts';
import type { TableSize } from './protocol.ts';
import { type AddressedKeys, largest, readKeys, readRows, takeRows, withoutFirst } from './read-rows.ts';
import type { ResidentThread } from './resident-thread.ts';
import type { CommittedRows } from './row-file.ts';

const EMPTY: TableSize = { rows: 0, removedRows: 0, memoryBytes: 0 };

/** Commits that are read from files, at most; more are read from the table at once. */
const FOLLOWED_MAX = 32;

/** Files beside those of a table, which may be there. */
export interface TableFiles {
  /** Folder of the files of commits. */
  readonly folder: string;
  /** All rows of a version of a small table. */
  readonly snapshot: string;
  /** Return the file of what the commit of a version has changed. */
  committed(version: number): string;
  /** Return the version whose commit a file of the folder is of, by its name; null: it is of none. */
  versionOf(file: string): number | null;
}

/** Copy of one LanceDB table in the memory of a thread. */
export class TableCopy {
  readonly name: string;
  /** Number by which its thread knows it. */
  readonly number: number;
  readonly thread: ResidentThread;
  readonly #scratchIn: string | null;
  readonly #onSize: () => void;
  #size = EMPTY;
  #version = -1;
  /** Largest address of a row that the copy has. */
  #lastRowId = -1n;

  /**
   * @param own.scratchIn directory of the files of a large table, which has most of its content there; null: it is small
   * @param own.onSize called when the size has changed, and when the table was read
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

  /** Version of the table that the copy has at least; -1 until it was read. */
  get version(): number {
    return this.#version;
  }

  /** Read all rows from a file. Return false if there is none of this version or a newer one. */
  async load(file: string, version: number): Promise<boolean> {
    const loaded = await this.thread.call('load', { table: this.number, file, version });
    if (loaded === null) return false;
    this.#lastRowId = loaded.lastRowId;
    this.#version = loaded.version;
    this.#resize(loaded.size);
    return true;
  }

  /**
   * Read all rows.
   *
   * @param table at `version` or a newer one; an older one is refused
   * @throws RangeError if they take more memory than `maxBytes`
   */
  async fill(table: Table, version: number, maxBytes: number): Promise<void> {
    await requireVersion(table, version);
    const { number, thread } = this;
    const creating = thread.call('create', { table: number, scratchIn: this.#scratchIn });
    // Rows are added while the next ones are read. The reading may fail before the creation is awaited.
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
    this.#version = version;
    this.#onSize();
  }

  #resize(size: TableSize): void {
    this.#size = size;
    this.#onSize();
  }

  /**
   * Make the change of a commit of this process without reading the table, if the copy is at the version before it. Otherwise
   * nothing is done, and `update` reads what is missing.
   */
  async apply(commit: CommittedRows): Promise<void> {
    if (this.#version !== commit.before || commit.after !== commit.before + 1) return;
    const { number, thread } = this;
    if ('selected' in commit) {
      this.#resize(await thread.call('remove', { table: number, selected: commit.selected }));
    } else {
      const { batch } = commit;
      const { generations, chunkIndexes, count } = batch;
      // A reading may have found rows of a newer version than it was to read.
      const unknown = await thread.call('findUnknown', { table: number, keys: { generations, chunkIndexes } });
      if (unknown.length > 0 && unknown.length < count) return;
      if (unknown.length > 0) this.#resize(await thread.call('add', { table: number, batch }));
    }
    this.#version = commit.after;
  }

  /**
   * Make the changes of the commits up to a version by the files of their writer, as far as there are files. A version that
   * moves rows has none.
   *
   * @returns false if there was no such commit
   */
  async follow(version: number, files: TableFiles): Promise<boolean> {
    const missing = version - this.#version;
    if (missing <= 0 || missing > FOLLOWED_MAX) return false;
    const committed = Array.from({ length: missing }, (_, nth) => files.committed(this.#version + 1 + nth));
    const { followed, size } = await this.thread.call('follow', {
      ...{ table: this.number, version: this.#version },
      files: committed,
    });
    if (followed === 0) return false;
    this.#version += followed;
    this.#resize(size);
    return true;
  }

  /** Read the rows that were appended since, and remove those that were deleted. @param table as for `fill` */
  async update(table: Table, version: number): Promise<void> {
    // The rows that are read are those of this version or a newer one.
    const latest = await requireVersion(table, version);
    if (!(await this.#addAppended(table))) await this.#addUnknown(table, await readKeys(table, this.#lastRowId));
    const { rows, removedRows } = this.#size;
    if ((await table.countRows()) !== rows - removedRows) {
      const all = await readKeys(table, null);
      await this.#addUnknown(table, all);
      const { generations, chunkIndexes } = all;
      const keys = { generations, chunkIndexes };
      this.#resize(await this.thread.call('keepOnly', { table: this.number, keys }));
    }
    this.#version = latest;
  }

  /** Release the memory. */
  async drop(): Promise<void> {
    await this.thread.call('drop', { table: this.number });
  }

  /**
   * Add the rows that come after those of the copy, in a fraction of the time that the keys of all rows take. They are read
   * from the last row on that the copy has: if it is not at its place, others were removed or moved.
   *
   * @returns false, and adds none, if it is not at its place
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

/** Return the version that a table is at; throw if that is older than the wanted one. */
async function requireVersion(table: Table, wanted: number): Promise<number> {
  const version = await table.version();
  if (version < wanted) throw new Error(`the table is at version ${version}, before version ${wanted}`);
  return version;
}
