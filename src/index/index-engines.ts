import type { Engine } from '../documents/schema.ts';
import { dependencyDown } from '../platform/errors.ts';
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
} from './chunk-index.ts';
import { engineOf } from './engines.ts';
import { joinReaders } from './join-readers.ts';

/**
 * Tables of several engines as one index, routed by table name. An unreachable engine fails only the work on its own
 * tables.
 */
export class IndexEngines implements ChunkIndex {
  readonly #lance: ChunkIndex;
  readonly #milvus: ChunkIndex | null;

  /** @param engines.milvus null if no Milvus is configured */
  constructor({ lance, milvus }: { readonly lance: ChunkIndex; readonly milvus: ChunkIndex | null }) {
    this.#lance = lance;
    this.#milvus = milvus;
  }

  /** @throws AppError `index_unavailable` (503) if the engine of a table is not configured */
  #of(tableName: string): ChunkIndex {
    return this.#engine(engineOf(tableName));
  }

  #engine(engine: Engine): ChunkIndex {
    if (engine === 'lance') return this.#lance;
    if (this.#milvus !== null) return this.#milvus;
    throw dependencyDown('index', 'the index of this bucket is on Milvus, and index.milvus.url is not set');
  }

  async open(tables: readonly TableVersion[], options?: ReadOptions): Promise<ChunkReader | null> {
    const byEngine = Map.groupBy(tables, ({ name }) => engineOf(name));
    const [only] = byEngine.keys();
    if (byEngine.size <= 1) return this.#engine(only ?? 'lance').open(tables, options);
    // A word unknown to one engine may be in a table of another.
    const own = { ...options, spelled: [] };
    const opened = await Promise.all(Array.from(byEngine, ([engine, some]) => this.#engine(engine).open(some, own)));
    const readers = opened.filter((reader) => reader !== null);
    if (readers.length === 0) return null;
    return {
      ...joinReaders(readers),
      compareSample: async (query) => (await Promise.all(readers.map((reader) => reader.compareSample(query)))).flat(),
    };
  }

  async statistics(table: TableVersion): Promise<TableStatistics | null> {
    return this.#of(table.name).statistics(table);
  }

  async readChunks(table: TableVersion, wanted: FirstChunks): Promise<StoredChunks> {
    return this.#of(table.name).readChunks(table, wanted);
  }

  readTokens(table: TableVersion, generations: readonly number[]): AsyncIterable<ChunkTokens> {
    return this.#of(table.name).readTokens(table, generations);
  }

  readGenerations(table: TableVersion, generations: readonly number[]): AsyncIterable<IndexedGeneration> {
    return this.#of(table.name).readGenerations(table, generations);
  }

  async countByGeneration(table: string): Promise<Map<number, number>> {
    return this.#of(table).countByGeneration(table);
  }

  async version(table: string): Promise<number> {
    return this.#of(table).version(table);
  }

  async append(table: string, generations: readonly IndexedGeneration[], options?: WriteOptions): Promise<TableState> {
    return this.#of(table).append(table, generations, options);
  }

  async remove(table: string, selection: ChunkSelection, options?: WriteOptions): Promise<TableState> {
    return this.#of(table).remove(table, selection, options);
  }

  async copyGenerations(from: TableVersion, to: string, generations: readonly number[]): Promise<void> {
    const [source, target] = [this.#of(from.name), this.#of(to)];
    if (source === target) return target.copyGenerations(from, to, generations);
    for await (const part of source.readGenerations(from, generations)) await target.append(to, [part]);
  }

  async settle(table: string, options?: SettleOptions): Promise<TableState> {
    return this.#of(table).settle(table, options);
  }

  async prepareForSearches(table: string): Promise<TableState> {
    return this.#of(table).prepareForSearches(table);
  }

  buildAhead(table: string, rows: number, withLock: (work: () => Promise<void>) => Promise<void>): BuildAhead {
    return this.#of(table).buildAhead(table, rows, withLock);
  }

  async expunge(table: string, options: WriteOptions & { publish(state: TableState): Promise<void> }): Promise<void> {
    return this.#of(table).expunge(table, options);
  }

  async drop(table: string): Promise<void> {
    return this.#of(table).drop(table);
  }

  async dropAll(bucketId: string): Promise<void> {
    await this.#lance.dropAll(bucketId);
    await this.#milvus?.dropAll(bucketId);
  }

  notePublished(table: TableVersion): void {
    this.#of(table.name).notePublished(table);
  }

  /** Probe LanceDB, whose storage every installation needs. */
  probe(): Promise<void> {
    return this.#lance.probe();
  }

  requireReach(): Promise<void> {
    return this.#lance.requireReach();
  }

  whileReached<T>(work: Promise<T>): Promise<T> {
    return this.#lance.whileReached(work);
  }

  async close(): Promise<void> {
    await this.#milvus?.close();
    await this.#lance.close();
  }
}
