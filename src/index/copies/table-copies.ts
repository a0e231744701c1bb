import type { Table } from '@lancedb/lancedb';
import type { Logger } from '../../platform/logger.ts';
import { ResidentThreads } from '../../resident/resident-threads.ts';
import { estimateBytes, hasDiskFor } from './estimate-size.ts';
import { RefusedTables } from './refused-tables.ts';
import { TableCopy } from './table-copy.ts';

/** Largest table, in rows, that a search waits for. Reading it takes a few tenths of a second. */
const AWAITED_ROWS_MAX = 4_096;
/** Default of `largeRows`. Comparing this many vectors takes two milliseconds. */
const LARGE_ROWS = 4_096;
/** A small copy with more than this many times `largeRows` is read again as a large one. */
const OUTGROWN_FACTOR = 2;
/** Delay from an update that finds removed rows to their erasure. One reading of the keys then serves many removals. */
const GONE_MS = 1_000;
/** Default of `keptMs`. Without it, two copies that are searched in turn would displace each other. */
const KEPT_MS = 30_000;
/** Time without a search after which a copy is dropped from memory. */
const IDLE_MS = 15 * 60_000;
const SWEEP_MS = 60_000;
/** Update a copy after each commit of this process for this long after its last search. */
const REFRESHED_MS = 60_000;
/** If more than this share of a copy's rows was removed, drop the copy and read its table again. */
const REMOVED_SHARE_MAX = 1 / 4;
/** Number of times that one search may begin to read the same table. */
const TRIES_MAX = 2;
/**
 * Wait this long before reading again a table that could not be read. Report failed searches no more often than this.
 */
const RETRY_MS = 60_000;

interface Entry {
  readonly copy: TableCopy;
  /** Rows that the table had when it was first read. */
  readonly firstRows: number;
  usedAtMs: number;
  /** Memory of this copy that `#bytes` includes. */
  countedBytes: number;
  /** The last reading of rows, which may be in progress. */
  reading: Promise<void>;
  /** Table that the last update read, or reads. It has all rows of the copy, except removed ones. */
  table: Table | null;
  /** Timer that erases the rows that are no longer in the table; null if nothing is to be erased. */
  removal: NodeJS.Timeout | null;
}

/** Totals over all copies. */
export interface ResidentTotals {
  readonly tables: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Opens a table at a version or a newer one; null if it does not exist. */
type OpenTable = () => Promise<Table | null>;

/**
 * Copies of the index tables in memory, where searches find rows in a fraction of the time that LanceDB takes
 * (docs/decisions/0036-resident-indexes.md). A table is read at its first search and brought up to date by the first
 * search that needs a newer version. The least recently searched ones are dropped when the memory is used up.
 */
export class TableCopies {
  readonly #maxBytes: number;
  readonly #keptMs: number;
  readonly #largeRows: number;
  readonly #scratchIn: string;
  readonly #onLargeRead: () => void;
  readonly #threads: ResidentThreads;
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  readonly #refused = new RefusedTables();
  readonly #sweeper: NodeJS.Timeout;
  /** Tables that are about to be read, by name. */
  readonly #admissions = new Map<string, Promise<Entry | null>>();
  #lastNumber = 0;
  /** Report no failed search before this time. */
  #silentUntilMs = Number.NEGATIVE_INFINITY;
  /** Memory of all copies. */
  #bytes = 0;
  #isClosed = false;

  /**
   * @param options.maxBytes bound of the memory of all copies
   * @param options.scratchIn directory of the files of large tables
   * @param options.largeRows a table with more rows is large: most of its content is in files
   * @param options.onLargeRead called when the copy of a large table is complete
   * @param options.keptMs a copy that was searched within this time is not dropped for another one
   */
  constructor(options: {
    readonly maxBytes: number;
    readonly scratchIn: string;
    readonly largeRows?: number;
    readonly onLargeRead?: () => void;
    readonly keptMs?: number;
    readonly threadsMax: number;
    readonly logger: Logger;
  }) {
    this.#maxBytes = options.maxBytes;
    this.#scratchIn = options.scratchIn;
    this.#largeRows = options.largeRows ?? LARGE_ROWS;
    this.#onLargeRead = options.onLargeRead ?? (() => undefined);
    this.#keptMs = options.keptMs ?? KEPT_MS;
    this.#threads = new ResidentThreads(options.threadsMax);
    this.#logger = options.logger;
    this.#sweeper = setInterval(() => this.#dropIdle(), SWEEP_MS).unref();
  }

  get totals(): ResidentTotals {
    const copies = [...this.#entries.values()].map(({ copy }) => copy);
    return {
      tables: copies.length,
      rows: copies.reduce((sum, { size }) => sum + size.rows - size.removedRows, 0),
      bytes: this.#bytes,
    };
  }

  /**
   * Return the copy of a table at this version or a newer one. Return null if there is no copy, or if it is not ready;
   * the search then reads the table.
   */
  async find(name: string, version: number, open: OpenTable): Promise<TableCopy | null> {
    try {
      for (let tries = 1; ; tries++) {
        if (this.#refused.has(name, version)) return null;
        const entry = this.#entries.get(name) ?? (await this.#admitOnce(name, version, open));
        if (entry === null) return null;
        entry.usedAtMs = performance.now();
        if (await this.#isAt(entry, version, open)) return entry.copy;
        // A copy most of whose rows were removed was dropped. Read the table again.
        if (this.#entries.get(name) === entry || tries === TRIES_MAX) return null;
      }
    } catch (error) {
      this.#logger.warn({ err: error, table: name }, 'an index cannot be held in memory; searches use its files');
      return null;
    }
  }

  /** Update the copy of a table to a version, if the copy was searched lately. The next search then need not wait. */
  refresh(name: string, version: number, open: OpenTable): void {
    const entry = this.#entries.get(name);
    if (!entry || !isFollowed(entry)) return;
    this.#isAt(entry, version, open).catch((error: unknown) => this.#warnOfUpdate(name, error));
  }

  #warnOfUpdate(name: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#logger.warn({ err: error, table: name }, 'an index in memory was not brought up to date');
  }

  /** Drop a copy that cannot be used any more. */
  forget(copy: TableCopy): void {
    const entry = this.#entries.get(copy.name);
    if (entry?.copy !== copy) return;
    this.#entries.delete(copy.name);
    if (entry.removal !== null) clearTimeout(entry.removal);
    this.#count(entry, 0);
    copy.drop().catch((error: unknown) => {
      if (!copy.thread.isEnded)
        this.#logger.warn({ err: error, table: copy.name }, 'an index was not dropped from memory');
    });
  }

  /**
   * Note that a search of copies failed. The caller repeats it on the tables. Forget the copies whose thread has ended.
   * Report the error at most once a minute, unless a copy was dropped meanwhile.
   */
  noteFailedSearch(copies: readonly TableCopy[], error: unknown): void {
    const isDropped = copies.some((copy) => copy.thread.isEnded || this.#entries.get(copy.name)?.copy !== copy);
    for (const copy of copies) if (copy.thread.isEnded) this.forget(copy);
    if (isDropped || this.#isClosed || performance.now() < this.#silentUntilMs) return;
    this.#silentUntilMs = performance.now() + RETRY_MS;
    const names = copies.map(({ name }) => name);
    this.#logger.error(
      { err: error, tables: names },
      'a search of indexes in memory failed, and is done in their files',
    );
  }

  /** Start a thread now, so that the first search does not wait for it. */
  prepare(): void {
    if (!this.#isClosed) this.#threads.prepare();
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    for (const { removal } of this.#entries.values()) if (removal !== null) clearTimeout(removal);
    this.#isClosed = true;
    const readings = [...this.#admissions.values(), ...[...this.#entries.values()].map(({ reading }) => reading)];
    this.#entries.clear();
    this.#bytes = 0;
    await this.#threads.close();
    // The threads have ended, so these readings fail. Wait for them: the caller closes the tables next.
    await Promise.allSettled(readings);
  }

  /** Begin to read a table; searches that come meanwhile wait for the same reading. */
  #admitOnce(name: string, version: number, open: OpenTable): Promise<Entry | null> {
    const admit = async () => (this.#isClosed ? null : await this.#admit(name, version, open));
    const admission = this.#admissions.get(name) ?? admit().finally(() => this.#admissions.delete(name));
    this.#admissions.set(name, admission);
    return admission;
  }

  /** Begin to read a table if there is room for it. */
  async #admit(name: string, version: number, open: OpenTable): Promise<Entry | null> {
    const table = await open();
    const firstRows = (await table?.countRows()) ?? 0;
    const isLarge = firstRows > this.#largeRows;
    const bytes = estimateBytes(firstRows, isLarge);
    if (table === null || this.#isClosed || !this.#makeRoom(bytes)) {
      if (bytes > this.#maxBytes) this.#refused.add(name, version, Number.POSITIVE_INFINITY);
      return null;
    }
    if (isLarge && !hasDiskFor(firstRows, this.#scratchIn)) {
      this.#logger.warn({ table: name }, 'the disk has no room for a copy of an index; searches use its files');
      this.#refused.add(name, version, RETRY_MS);
      return null;
    }
    const copy = this.#newCopy(name, isLarge ? this.#scratchIn : null);
    const reading = copy.fill(table, version, this.#maxBytes).then(() => {
      if (!this.#makeRoom(0)) this.#dropForLackOfRoom(copy);
      else if (isLarge) this.#onLargeRead();
    });
    const entry = this.#enter(copy, firstRows, reading);
    reading.catch((error: unknown) => {
      this.#refused.add(name, version, error instanceof RangeError ? Number.POSITIVE_INFINITY : RETRY_MS);
      if (!copy.thread.isEnded) this.#logger.warn({ err: error, table: name }, 'an index was not read into memory');
      this.forget(copy);
    });
    return entry;
  }

  #newCopy(name: string, scratchIn: string | null): TableCopy {
    const number = ++this.#lastNumber;
    const onSize = () => {
      const entry = this.#entries.get(name);
      if (entry?.copy.number === number) this.#count(entry, bytesOf(entry));
    };
    return new TableCopy(name, { number, thread: this.#threads.of(name), scratchIn, onSize });
  }

  #enter(copy: TableCopy, firstRows: number, reading: Promise<void>): Entry {
    const entry: Entry = {
      copy,
      firstRows,
      usedAtMs: performance.now(),
      countedBytes: 0,
      reading,
      table: null,
      removal: null,
    };
    this.#entries.set(copy.name, entry);
    this.#count(entry, bytesOf(entry));
    return entry;
  }

  /** Replace the size of a copy in the sum of all copies. */
  #count(entry: Entry, bytes: number): void {
    this.#bytes += bytes - entry.countedBytes;
    entry.countedBytes = bytes;
  }

  /**
   * Update a copy to a version. Return false if the first reading of a large table is not done, or if the copy was
   * dropped.
   */
  async #isAt(entry: Entry, version: number, open: OpenTable): Promise<boolean> {
    const { copy } = entry;
    if (copy.version === -1) {
      if (entry.firstRows > AWAITED_ROWS_MAX) return false;
      await entry.reading.catch(() => undefined);
    }
    while (copy.version < version && this.#entries.get(copy.name) === entry) {
      const before = entry.reading;
      await before.catch(() => undefined);
      // Another search may have updated the copy meanwhile, or may be updating it now.
      if (copy.version >= version || entry.reading !== before) continue;
      entry.reading = this.#update(entry, version, open);
      await entry.reading;
    }
    return this.#entries.get(copy.name) === entry;
  }

  async #update(entry: Entry, version: number, open: OpenTable): Promise<void> {
    const { copy } = entry;
    try {
      const table = await open();
      if (table === null) throw new Error('the table is gone');
      entry.table = table;
      // Rows can move to another file while they are read.
      await copy.update(table, version).catch(() => copy.update(table, version));
      if (await copy.hasGone(table)) this.#removeLater(entry);
    } catch (error) {
      this.forget(copy);
      throw error;
    }
    if (isMostlyRemoved(copy) || this.#isOutgrown(copy)) this.forget(copy);
    else if (!this.#makeRoom(0)) this.#dropForLackOfRoom(copy);
  }

  /** Return true if a copy that was small when it was read has become large. */
  #isOutgrown({ isLarge, size }: TableCopy): boolean {
    return !isLarge && size.rows > this.#largeRows * OUTGROWN_FACTOR;
  }

  /** Erase the rows that are no longer in the table from the copy, after `GONE_MS`. */
  #removeLater(entry: Entry): void {
    const remove = async () => {
      entry.removal = null;
      if (entry.table !== null) await entry.copy.removeGone(entry.table);
      if (isMostlyRemoved(entry.copy)) this.forget(entry.copy);
    };
    const removeOrForget = () =>
      remove().catch((error: unknown) => {
        this.forget(entry.copy);
        this.#warnOfUpdate(entry.copy.name, error);
      });
    entry.removal ??= setTimeout(removeOrForget, GONE_MS).unref();
  }

  /**
   * Drop a copy that does not fit into memory. Refuse its table for `RETRY_MS`, since the next search would read it in
   * vain.
   */
  #dropForLackOfRoom(copy: TableCopy): void {
    this.forget(copy);
    this.#refused.add(copy.name, Number.POSITIVE_INFINITY, RETRY_MS);
  }

  /** Drop the least recently searched copies until there is room; return false if they are all in use. */
  #makeRoom(bytes: number): boolean {
    let missing = this.#bytes + bytes - this.#maxBytes;
    if (missing <= 0) return true;
    for (const entry of [...this.#entries.values()].sort((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (performance.now() - entry.usedAtMs < this.#keptMs) return false;
      missing -= entry.countedBytes;
      this.forget(entry.copy);
      if (missing <= 0) return true;
    }
    return false;
  }

  #dropIdle(): void {
    const untilMs = performance.now() - IDLE_MS;
    for (const { copy, usedAtMs } of [...this.#entries.values()]) if (usedAtMs < untilMs) this.forget(copy);
  }
}

/** Return true if a copy was read, and searched lately. */
function isFollowed({ copy, usedAtMs }: Entry): boolean {
  return copy.version !== -1 && performance.now() - usedAtMs <= REFRESHED_MS;
}

/** Return true if more than `REMOVED_SHARE_MAX` of the rows of a copy were removed. */
function isMostlyRemoved({ size: { rows, removedRows } }: TableCopy): boolean {
  return removedRows > rows * REMOVED_SHARE_MAX;
}

/** Return the memory of a copy. Before its table is read, return at least the estimate. */
function bytesOf({ copy, firstRows }: Entry): number {
  const { memoryBytes } = copy.size;
  return copy.version === -1 ? Math.max(memoryBytes, estimateBytes(firstRows, copy.isLarge)) : memoryBytes;
}
