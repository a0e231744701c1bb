import { setTimeout as delay } from 'node:timers/promises';
import type { RowData } from '@zilliz/milvus2-sdk-node';
import { AppError, dependencyDown } from '../../platform/errors.ts';
import type { MilvusSettings } from '../../platform/storage-settings.ts';
import {
  type BuildAhead,
  type ChunkIndex,
  type ChunkReader,
  type ChunkSelection,
  type ChunkTokens,
  type FirstChunks,
  type IndexedGeneration,
  ReaderGone,
  type ReadOptions,
  type StoredChunks,
  type TableState,
  type TableStatistics,
  type TableVersion,
  type WriteOptions,
} from '../chunk-index.ts';
import { joinReaders, type PartReader } from '../join-readers.ts';
import { RowSamples } from '../row-samples.ts';
import { MilvusCollections } from './collections.ts';
import { CollectionMissing, MilvusConnection, WRITE_MS_MAX } from './milvus-connection.ts';
import { collectionReader } from './milvus-reader.ts';
import {
  countByGeneration,
  countRows,
  isOfDocuments,
  isOfGenerations,
  readChunks,
  readGenerations,
  readTokens,
  readVersion,
  sampleRows,
} from './read-rows.ts';
import { rowsOf, versionRow } from './rows.ts';

/** Number of rows per request. The client blocks the event loop for about 0.3 ms per row. */
const REQUEST_ROWS = 100;
/** Time before a write of unknown outcome counts as final. */
const LATE_MS = 60_000;

/**
 * `ChunkIndex` driver for Milvus. Each table is a separate collection, so that words in one bucket don't affect the
 * ranking of another. PostgreSQL decides which generations a search returns; the engine only finds rows.
 */
export class MilvusIndex implements ChunkIndex {
  readonly #connection: MilvusConnection;
  readonly #collections: MilvusCollections;
  readonly #samples: RowSamples;
  readonly #installation: string;

  /** @param installation id that the names of collections begin with, since several installations may share a Milvus */
  constructor(settings: MilvusSettings, installation: string) {
    this.#connection = new MilvusConnection(settings);
    this.#collections = new MilvusCollections(this.#connection);
    this.#samples = new RowSamples(({ name }) => sampleRows(this.#connection, this.#collectionOf(name)));
    this.#installation = installation;
  }

  #collectionOf(table: string): string {
    return `${this.#installation}_${table}`;
  }

  async open(tables: readonly TableVersion[], { ownTerms }: ReadOptions = {}): Promise<ChunkReader | null> {
    const known = await Promise.all(tables.map((table) => this.#exists(table)));
    const found = tables.filter((_, nth) => known[nth]);
    if (found.length === 0) return null;
    const readers = found.map(({ name }) => {
      const collection = this.#collectionOf(name);
      return this.#guarded(collection, collectionReader(this.#connection, collection, ownTerms?.get(name)));
    });
    return {
      ...joinReaders(readers),
      compareSample: async (query) => (await this.#samples.read(found)).flatMap((sample) => sample.compare(query)),
    };
  }

  /** Return false for a table without a version, which was never written. */
  async #exists({ name, version }: TableVersion): Promise<boolean> {
    return version > 0 && (await this.#collections.has(this.#collectionOf(name)));
  }

  /** Make a search repeat if its collection was dropped, by this process or another one. */
  #guarded(collection: string, reader: PartReader): PartReader {
    const guard = async <T>(work: Promise<T>): Promise<T> => {
      try {
        return await work;
      } catch (error) {
        if (error instanceof AppError || error instanceof ReaderGone) throw error;
        this.#collections.forget(collection);
        // The client has its own errors for a missing collection.
        if (await this.#collections.has(collection)) throw error;
        throw new ReaderGone();
      }
    };
    return {
      searchVectors: (vector, options) => guard(reader.searchVectors(vector, options)),
      searchKeywords: (terms, options) => guard(reader.searchKeywords(terms, options)),
      corrections: () => reader.corrections(),
      readCosines: (vector, candidates) => guard(reader.readCosines(vector, candidates)),
      readPassages: (candidates) => guard(reader.readPassages(candidates)),
    };
  }

  async statistics(table: TableVersion): Promise<TableStatistics | null> {
    if (!(await this.#exists(table))) return null;
    const rows = await countRows(this.#connection, this.#collectionOf(table.name));
    return { rows, fragments: 1, smallFragments: 0, unindexedRows: 0 };
  }

  async readChunks(table: TableVersion, wanted: FirstChunks): Promise<StoredChunks> {
    const isEmpty = wanted.documentIds.length === 0 || !(await this.#exists(table));
    if (isEmpty) return { chunks: [], vectors: new Float32Array() };
    return readChunks(this.#connection, this.#collectionOf(table.name), wanted);
  }

  async *readTokens(table: TableVersion, generations: readonly number[]): AsyncIterable<ChunkTokens> {
    const isEmpty = generations.length === 0 || !(await this.#exists(table));
    if (!isEmpty) yield* readTokens(this.#connection, this.#collectionOf(table.name), generations);
  }

  async *readGenerations(table: TableVersion, generations: readonly number[]): AsyncIterable<IndexedGeneration> {
    const isEmpty = generations.length === 0 || !(await this.#exists(table));
    if (!isEmpty) yield* readGenerations(this.#connection, this.#collectionOf(table.name), generations);
  }

  async countByGeneration(name: string): Promise<Map<number, number>> {
    const collection = this.#collectionOf(name);
    await this.#collections.ensure(collection);
    return countByGeneration(this.#connection, collection);
  }

  async version(name: string): Promise<number> {
    const collection = this.#collectionOf(name);
    await this.#collections.ensure(collection);
    return readVersion(this.#connection, collection);
  }

  append(name: string, generations: readonly IndexedGeneration[], options: WriteOptions = {}): Promise<TableState> {
    return this.#write(name, options, () => this.#upsert(name, rowsOf(generations)));
  }

  remove(name: string, selection: ChunkSelection, options: WriteOptions = {}): Promise<TableState> {
    const filter = conditionOf(selection);
    return this.#write(name, options, async () => {
      const collection = this.#collectionOf(name);
      await this.#connection.callLoaded(collection, (client) =>
        client.delete({ collection_name: collection, filter, consistency_level: 'Strong', timeout: WRITE_MS_MAX }),
      );
    });
  }

  /**
   * Write rows, then the next version. An interrupted write leaves rows of generations that no search returns. The
   * retry overwrites them under the same keys.
   */
  async #write(name: string, { requireLock, onLate }: WriteOptions, write: () => Promise<void>): Promise<TableState> {
    const version = (await this.version(name)) + 1;
    await requireLock?.();
    try {
      await write();
      await this.#upsert(name, [versionRow(version)]);
    } catch (error) {
      if (error instanceof CollectionMissing) {
        this.#collections.forget(this.#collectionOf(name));
        throw dependencyDown('index', 'the collection was dropped during the write', error);
      }
      // A request without a reply may take effect later.
      if (onLate) delay(LATE_MS, undefined, { ref: false }).then(onLate, () => undefined);
      throw error;
    }
    return stateOf(name, version);
  }

  /** Upsert rows by key, so that repeating a request is idempotent. */
  async #upsert(name: string, rows: Iterable<RowData>): Promise<void> {
    const request = { collection_name: this.#collectionOf(name), timeout: WRITE_MS_MAX };
    for (const data of inGroups(rows, REQUEST_ROWS)) {
      await this.#connection.call((client) => client.upsert({ ...request, data }));
    }
  }

  async copyGenerations(from: TableVersion, to: string, generations: readonly number[]): Promise<void> {
    for await (const part of this.readGenerations(from, generations)) await this.append(to, [part]);
  }

  /** Only read the state: Milvus merges segments and builds indexes on its own. */
  async settle(name: string): Promise<TableState> {
    return stateOf(name, await this.version(name));
  }

  prepareForSearches(name: string): Promise<TableState> {
    return this.settle(name);
  }

  buildAhead(): BuildAhead {
    return { written: () => undefined, finish: async () => undefined };
  }

  /** Start a compaction, which drops removed rows. Milvus deletes the old files in its garbage collection. */
  async expunge(
    name: string,
    { requireLock, publish }: WriteOptions & { publish(state: TableState): Promise<void> },
  ): Promise<void> {
    const collection = this.#collectionOf(name);
    if (!(await this.#collections.has(collection))) return;
    await requireLock?.();
    const flush = { collection_names: [collection], timeout: WRITE_MS_MAX };
    await this.#connection.call((client) => client.flushSync(flush));
    await this.#connection.call((client) => client.compact({ collection_name: collection }));
    await publish(await this.settle(name));
  }

  drop(name: string): Promise<void> {
    return this.#collections.drop(this.#collectionOf(name));
  }

  dropAll(bucketId: string): Promise<void> {
    return this.#collections.dropAll(this.#collectionOf(bucketId));
  }

  notePublished(): void {
    // Milvus has no in-memory copies to update.
  }

  probe(): Promise<void> {
    return this.#connection.probe();
  }

  /** Do nothing: every request has a time limit, and fails at once if Milvus refuses connections. */
  async requireReach(): Promise<void> {}

  whileReached<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

function stateOf(name: string, version: number): TableState {
  return { name, version, fragments: 1, unindexedRows: 0, isDueToSettle: false };
}

function conditionOf({ documentIds, generations }: ChunkSelection): string {
  const ofDocuments = documentIds.length > 0 && isOfDocuments(documentIds);
  const ofGenerations = generations.length > 0 && isOfGenerations(generations);
  return [ofDocuments, ofGenerations].filter(Boolean).join(' or ');
}

function* inGroups<T>(values: Iterable<T>, size: number): Generator<T[]> {
  let group: T[] = [];
  for (const value of values) {
    group.push(value);
    if (group.length === size) {
      yield group;
      group = [];
    }
  }
  if (group.length > 0) yield group;
}
