import type { Table } from '@lancedb/lancedb';
import type { Logger } from '../../platform/logger.ts';
import { ResidentThreads } from '../../resident/resident-threads.ts';
import { estimateBytes, hasDiskFor } from './estimate-size.ts';
import { RefusedTables } from './refused-tables.ts';
import { TableCopy } from './table-copy.ts';

/** Largest table, in rows, whose reading a search waits for. It takes a few tenths of a second. */
const AWAITED_ROWS_MAX = 4_096;
/** Default of `largeRows`. Comparing this many vectors takes 2 ms. */
const LARGE_ROWS = 4_096;
/** Factor of `largeRows` above which a small copy is reread as a large one. */
const OUTGROWN_FACTOR = 2;
/** Delay between finding removed rows and erasing them, so that one read of the keys covers many removals. */
const GONE_MS = 1_000;
/** Default of `keptMs`. Without it, two alternately searched copies would evict each other. */
const KEPT_MS = 30_000;
/** Time since the last search after which a copy is evicted. */
const IDLE_MS = 15 * 60_000;
const SWEEP_MS = 60_000;
/** Time since the last search during which a copy follows each commit of this process. */
const REFRESHED_MS = 60_000;
/** Share of removed rows above which a copy is dropped and its table reread. */
const REMOVED_SHARE_MAX = 1 / 4;
/** Maximum number of times that one search starts reading the same table. */
const TRIES_MAX = 2;
/** Minimum time before rereading an unreadable table, and between two reports of failed searches. */
const RETRY_MS = 60_000;

interface Entry {
  readonly copy: TableCopy;
  /** Number of rows of the table when first read. */
  readonly firstRows: number;
  usedAtMs: number;
  /** Memory of this copy that is included in `#bytes`. */
  countedBytes: number;
  /** Latest read of rows, possibly still in progress. */
  reading: Promise<void>;
  /** Table of the latest update. It contains all rows of the copy, except removed ones. */
  table: Table | null;
  /** Timer that erases rows that the table no longer contains; null if none is set. */
  removal: NodeJS.Timeout | null;
}

/** Totals over all copies. */
export interface ResidentTotals {
  readonly tables: number;
  readonly rows: number;
  readonly bytes: number;
}

/** Open a table at a version or a newer one. Return null if it doesn't exist. */
type OpenTable = () => Promise<Table | null>;

/**
 * In-memory copies of index tables, which find rows in a fraction of LanceDB's time
 * (docs/decisions/0036-resident-indexes.md). The first search of a table reads it. The first search that needs a newer
 * version updates the copy. If memory runs out, the least recently searched copies are evicted.
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
  /** Tables being admitted, by name. */
  readonly #admissions = new Map<string, Promise<Entry | null>>();
  #lastNumber = 0;
  /** Time before which failed searches are not reported. */
  #silentUntilMs = Number.NEGATIVE_INFINITY;
  /** Memory of all copies in bytes. */
  #bytes = 0;
  #isClosed = false;

  /**
   * @param options.maxBytes memory limit for all copies
   * @param options.scratchIn directory for the files of large tables
   * @param options.largeRows number of rows above which a table is large and keeps most of its content in files
   * @param options.onLargeRead called when a large table has been read completely
   * @param options.keptMs time since its last search during which a copy is not evicted for another one
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
   * Return the copy of a table at this version or a newer one. Return null if there is no ready copy; the search then
   * reads the table itself.
   */
  async find(name: string, version: number, open: OpenTable): Promise<TableCopy | null> {
    try {
      for (let tries = 1; ; tries++) {
        if (this.#refused.has(name, version)) return null;
        const entry = this.#entries.get(name) ?? (await this.#admitOnce(name, version, open));
        if (entry === null) return null;
        entry.usedAtMs = performance.now();
        if (await this.#isAt(entry, version, open)) return entry.copy;
        // The copy was dropped because most of its rows were removed. Read the table again.
        if (this.#entries.get(name) === entry || tries === TRIES_MAX) return null;
      }
    } catch (error) {
      this.#logger.warn({ err: error, table: name }, 'an index cannot be held in memory; searches use its files');
      return null;
    }
  }

  /** Update the copy of a table if it was searched lately, so that the next search doesn't wait. */
  refresh(name: string, version: number, open: OpenTable): void {
    const entry = this.#entries.get(name);
    if (!entry || !isFollowed(entry)) return;
    this.#isAt(entry, version, open).catch((error: unknown) => this.#warnOfUpdate(name, error));
  }

  #warnOfUpdate(name: string, error: unknown): void {
    if (this.#isClosed) return;
    this.#logger.warn({ err: error, table: name }, 'an index in memory was not brought up to date');
  }

  /** Drop an unusable copy. */
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
   * Handle a failed search of copies, which the caller repeats on the tables. Drop copies whose thread has ended.
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

  /** Start a thread ahead of the first search. */
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
    // The threads have ended, so these reads fail. Await them, since the caller closes the tables next.
    await Promise.allSettled(readings);
  }

  /** Start reading a table, or join a read that another search started. */
  #admitOnce(name: string, version: number, open: OpenTable): Promise<Entry | null> {
    const admit = async () => (this.#isClosed ? null : await this.#admit(name, version, open));
    const admission = this.#admissions.get(name) ?? admit().finally(() => this.#admissions.delete(name));
    this.#admissions.set(name, admission);
    return admission;
  }

  /** Start reading a table if there is room for it. */
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

  /** Update the size of a copy in the total. */
  #count(entry: Entry, bytes: number): void {
    this.#bytes += bytes - entry.countedBytes;
    entry.countedBytes = bytes;
  }

  /**
   * Update a copy to a version. Return false if a large table is still being read for the first time, or if the copy
   * was dropped.
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
      // Another search has updated the copy, or is updating it.
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
      // Retry once, since rows can move to another file during the read.
      await copy.update(table, version).catch(() => copy.update(table, version));
      if (await copy.hasGone(table)) this.#removeLater(entry);
    } catch (error) {
      this.forget(copy);
      throw error;
    }
    if (isMostlyRemoved(copy) || this.#isOutgrown(copy)) this.forget(copy);
    else if (!this.#makeRoom(0)) this.#dropForLackOfRoom(copy);
  }

  /** Return true if a copy that was read as a small one has become large. */
  #isOutgrown({ isLarge, size }: TableCopy): boolean {
    return !isLarge && size.rows > this.#largeRows * OUTGROWN_FACTOR;
  }

  /** Erase from the copy, after `GONE_MS`, the rows that the table no longer contains. */
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
   * Drop a copy that doesn't fit into memory. Refuse its table for `RETRY_MS`, so that the next search doesn't read it
   * in vain.
   */
  #dropForLackOfRoom(copy: TableCopy): void {
    this.forget(copy);
    this.#refused.add(copy.name, Number.POSITIVE_INFINITY, RETRY_MS);
  }

  /** Evict the least recently searched copies until there is room. Return false if all are in use. */
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

/** Return true if a copy has been read and was searched lately. */
function isFollowed({ copy, usedAtMs }: Entry): boolean {
  return copy.version !== -1 && performance.now() - usedAtMs <= REFRESHED_MS;
}

/** Return true if more than `REMOVED_SHARE_MAX` of a copy's rows were removed. */
function isMostlyRemoved({ size: { rows, removedRows } }: TableCopy): boolean {
  return removedRows > rows * REMOVED_SHARE_MAX;
}

/** Return the memory of a copy, or the estimate if that is larger while its table is being read. */
function bytesOf({ copy, firstRows }: Entry): number {
  const { memoryBytes } = copy.size;
  return copy.version === -1 ? Math.max(memoryBytes, estimateBytes(firstRows, copy.isLarge)) : memoryBytes;
}
