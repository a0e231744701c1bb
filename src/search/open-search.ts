import type { Access } from '../access/open-access.ts';
import type { IndexRemoval } from '../documents/remove-documents.ts';
import type { Embedding } from '../embedding/open-embedding.ts';
import type { ChunkIndex } from '../index/chunk-index.ts';
import { openTableCopies } from '../index/copies/open-copies.ts';
import { IndexEngines } from '../index/index-engines.ts';
import { openIndexMetrics } from '../index/index-metrics.ts';
import { LanceIndex } from '../index/lance/lance-index.ts';
import { loadLance } from '../index/lance/load-lance.ts';
import { openTables } from '../index/lance/open-tables.ts';
import { MilvusIndex } from '../index/milvus/milvus-index.ts';
import type { DeletedTextAge } from '../index/writing/deleted-text-store.ts';
import { expungeBucket, expungeDue } from '../index/writing/expunge-bucket.ts';
import { IndexWriter } from '../index/writing/index-writer.ts';
import { sweepTables } from '../index/writing/replace-table.ts';
import { type SweepCursor, sweepGenerations } from '../index/writing/sweep.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import type { FairGate } from '../platform/fair-gate.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { Rerankers } from '../rerank/open-rerankers.ts';
import { removeOldChanges } from './documents/copy-store.ts';
import { openDocumentCopies } from './documents/open-copies.ts';
import type { SearchContext } from './search.ts';
import type { SearchRecorder } from './search-recorder.ts';
import { SynonymCache } from './synonyms/synonym-cache.ts';

/**
 * Schedule for erasing deleted text: a small index after a pause in deletions, a large one once per ten minutes of
 * deletions.
 */
const DELETED_TEXT: DeletedTextAge = { pauseMs: 10_000, smallChunks: 10_000, ageMs: 600_000 };

/** Search index: reading, writing and maintenance. */
export interface Search extends SearchContext {
  /** Tables of all engines. */
  readonly chunks: ChunkIndex;
  /** LanceDB tables. */
  readonly lance: LanceIndex;
  /** Milvus tables; null if Milvus is not configured. */
  readonly milvus: MilvusIndex | null;
  readonly index: IndexWriter;
  readonly removal: IndexRemoval;
  readonly chores: (everyMs: number) => readonly Chore[];
  /**
   * Load the modules that the first search or write needs (about 200 ms), and check the Milvus version. Servers and
   * workers call this at startup.
   *
   * @throws AppError `index_engine_unsupported` if Milvus is too old
   */
  prepare(): Promise<void>;
  close(): Promise<void>;
}

export async function openSearch(context: {
  readonly config: Pick<Config, 'dataDir' | 'index' | 'objects' | 'search'>;
  readonly keyRing: Pick<KeyRing, 'linkSigning'>;
  readonly access: Pick<Access, 'installationId'>;
  readonly sql: Sql;
  readonly direct: Sql;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly embedding: Pick<Embedding, 'embedder'>;
  readonly rerankers: Pick<Rerankers, 'ofSearch'>;
  readonly queryShares: FairGate;
  /** Recorder of searches by callers. */
  readonly recorder: SearchRecorder;
}): Promise<Search> {
  const { config, keyRing, sql, direct, objects, logger, metrics, embedding, queryShares, recorder } = context;
  const tables = openTables(config);
  openIndexMetrics(metrics, sql);
  const copies = openTableCopies(config, { logger, metrics, onLargeRead: () => tables.releaseLarge() });
  const lance = new LanceIndex(tables, copies);
  const { milvus: settings } = config.index;
  const milvus = settings === null ? null : new MilvusIndex(settings, context.access.installationId);
  const chunks = new IndexEngines({ lance, milvus });
  const documents = openDocumentCopies(config, { sql, logger, metrics });
  const index = new IndexWriter({ sql, direct, chunks, logger });
  const generations: SweepCursor = { after: null };
  return {
    sql,
    chunks,
    lance,
    milvus,
    embedder: embedding.embedder,
    reranker: context.rerankers.ofSearch,
    synonyms: new SynonymCache(),
    log: recorder,
    documents,
    index,
    queryShares,
    links: { to: config.search.resultLinks, keyRing },
    removal: {
      dropDocuments: (bucketId, documentIds, signal) => index.dropDocuments(bucketId, documentIds, signal),
      expunge: (bucketId, signal) => expungeBucket({ sql, direct, chunks }, bucketId, signal),
      expungeSmall: (signal) => expungeDue({ sql, direct, chunks, logger }, { ...DELETED_TEXT, pauseMs: 0 }, signal),
      dropBucket: (bucketId, signal) => index.dropBucket(bucketId, signal),
    },
    chores: (everyMs) => [
      {
        name: 'removal of replaced index tables',
        everyMs,
        run: async (signal) => void (await sweepTables({ sql, direct, chunks, logger }, signal)),
      },
      {
        name: 'removal of unused generations',
        everyMs,
        run: async (signal) => void (await sweepGenerations({ sql, objects, index, logger }, signal, generations)),
      },
      {
        name: 'removal of deleted text from the indexes',
        everyMs,
        run: (signal) => expungeDue({ sql, direct, chunks, logger }, DELETED_TEXT, signal),
      },
      { name: 'removal of noted changes of documents', everyMs, run: () => removeOldChanges(sql) },
      { name: 'settling of abandoned indexes', everyMs, run: (signal) => index.settleAbandoned(signal) },
    ],
    async prepare() {
      loadLance();
      copies?.prepare();
      await milvus?.probe().catch((error: unknown) => {
        if (error instanceof AppError && error.code === 'index_engine_unsupported') throw error;
        logger.warn({ err: error }, 'Milvus is not reachable; its buckets cannot be searched until it answers');
      });
    },
    async close() {
      await index.close();
      await documents?.close();
      await chunks.close();
    },
  };
}
