import type { Table } from '@lancedb/lancedb';
import type {
  BuildAhead,
  ChunkIndex,
  ChunkReader,
  ChunkSelection,
  ChunkTokens,
  FirstChunks,
  IndexedGeneration,
  ReadOptions,
  SettleOptions,
  StoredChunks,
  TableState,
  TableStatistics,
  TableVersion,
  WriteOptions,
} from '../chunk-index.ts';
import type { TableCopies } from '../copies/table-copies.ts';
import { quoteId } from '../quote-id.ts';
import { RowSamples } from '../row-samples.ts';
import { LanceBuildAhead } from './build-ahead.ts';
import { toArrowTable } from './chunk-table.ts';
import { expungeTable } from './expunge-table.ts';
import { type LanceTables, TOKEN_INDEX_NAME } from './lance.ts';
import { openReader } from './open-reader.ts';
import { countByGeneration, readChunks, readGenerations, readTokens } from './read-table.ts';
import { sampleTable } from './sample-table.ts';
import { settle } from './settle.ts';
import { isIndexed, readTableState } from './table-state.ts';

/** `ChunkIndex` driver for LanceDB, with tables on disk or in an object store, and copies in memory. */
export class LanceIndex implements ChunkIndex {
  readonly tables: LanceTables;
  readonly copies: TableCopies | null;
  /** Row samples for judging results. */
  readonly #samples: RowSamples;

  /** @param copies in-memory copies; null if searches use only the tables */
  constructor(tables: LanceTables, copies: TableCopies | null = null) {
    this.tables = tables;
    this.copies = copies;
    this.#samples = new RowSamples((table) => sampleTable(tables, table));
  }

  open(tables: readonly TableVersion[], options: ReadOptions = {}): Promise<ChunkReader | null> {
    return openReader({ tables: this.tables, copies: this.copies, samples: this.#samples }, tables, options);
  }

  async statistics({ name, version }: TableVersion): Promise<TableStatistics | null> {
    const table = await this.tables.openForReading(name, version);
    if (table === null) return null;
    const { numFragments, numSmallFragments } = (await table.stats()).fragmentStats;
    return {
      rows: await table.countRows(),
      fragments: numFragments,
      smallFragments: numSmallFragments,
      unindexedRows: (await table.indexStats(TOKEN_INDEX_NAME))?.numUnindexedRows ?? 0,
    };
  }

  async readChunks({ name, version }: TableVersion, wanted: FirstChunks): Promise<StoredChunks> {
    const table = wanted.documentIds.length === 0 ? null : await this.tables.openForReading(name, version);
    return table === null ? { chunks: [], vectors: new Float32Array() } : readChunks(table, wanted);
  }

  async *readTokens({ name, version }: TableVersion, generations: readonly number[]): AsyncIterable<ChunkTokens> {
    const table = generations.length === 0 ? null : await this.tables.openForReading(name, version);
    if (table !== null) yield* readTokens(table, generations);
  }

  async *readGenerations(
    { name, version }: TableVersion,
    generations: readonly number[],
  ): AsyncIterable<IndexedGeneration> {
    const table = generations.length === 0 ? null : await this.tables.openForReading(name, version);
    if (table !== null) yield* readGenerations(table, generations);
  }

  async countByGeneration(name: string): Promise<Map<number, number>> {
    return countByGeneration(await this.tables.openForWriting(name));
  }

  async version(name: string): Promise<number> {
    return (await this.tables.openForWriting(name)).version();
  }

  async append(
    name: string,
    generations: readonly IndexedGeneration[],
    options: WriteOptions = {},
  ): Promise<TableState> {
    return this.#write(name, options, (table) => table.add(toArrowTable(generations) as never));
  }

  async remove(name: string, selection: ChunkSelection, options: WriteOptions = {}): Promise<TableState> {
    return this.#write(name, options, (table) => table.delete(predicateOf(selection)));
  }

  async #write(
    name: string,
    { requireLock, onLate }: WriteOptions,
    write: (table: Table) => Promise<unknown>,
  ): Promise<TableState> {
    const table = await this.tables.openForWriting(name);
    await requireLock?.();
    const writing = write(table);
    try {
      await this.tables.mapErrors(writing);
    } catch (error) {
      if (onLate) writing.then(onLate).catch(() => undefined);
      throw error;
    }
    return readTableState(table);
  }

  async copyGenerations({ name, version }: TableVersion, to: string, generations: readonly number[]): Promise<void> {
    if (generations.length === 0) return;
    const table = await this.tables.openForReading(name, version);
    const rows = await table
      ?.query()
      .where(`generation IN (${generations.map(Number).join(', ')})`)
      .toArrow();
    if (rows && rows.numRows > 0) await (await this.tables.openForWriting(to)).add(rows as never);
  }

  async settle(name: string, options: SettleOptions = {}): Promise<TableState> {
    const table = await this.tables.openForWriting(name);
    await settle(this.tables, table, options);
    return readTableState(table);
  }

  async prepareForSearches(name: string): Promise<TableState> {
    const table = await this.tables.openForWriting(name);
    if (!(await isIndexed(table))) await settle(this.tables, table);
    return readTableState(table);
  }

  buildAhead(name: string, rows: number, withLock: (work: () => Promise<void>) => Promise<void>): BuildAhead {
    return new LanceBuildAhead(this.tables, name, rows, withLock);
  }

  expunge(name: string, options: WriteOptions & { publish(state: TableState): Promise<void> }): Promise<void> {
    const requireLock = options.requireLock ?? (async () => undefined);
    return expungeTable(this.tables, name, requireLock, options.publish);
  }

  drop(name: string): Promise<void> {
    return this.tables.drop(name);
  }

  dropAll(bucketId: string): Promise<void> {
    return this.tables.dropAll(bucketId);
  }

  notePublished({ name, version }: TableVersion): void {
    this.copies?.refresh(name, version, () => this.tables.openForReading(name, version));
  }

  probe(): Promise<void> {
    return this.tables.probe();
  }

  requireReach(): Promise<void> {
    return this.tables.requireReach();
  }

  whileReached<T>(work: Promise<T>): Promise<T> {
    return this.tables.whileReached(work);
  }

  async close(): Promise<void> {
    await this.copies?.close();
    await this.tables.close();
  }
}

function predicateOf({ documentIds, generations }: ChunkSelection): string {
  const ofDocuments = `document_id IN (${documentIds.map(quoteId).join(', ')})`;
  const ofGenerations = `generation IN (${generations.map(Number).join(', ')})`;
  return [documentIds.length > 0 && ofDocuments, generations.length > 0 && ofGenerations].filter(Boolean).join(' OR ');
}
