import { RecentBuckets } from '../documents/recent-buckets.ts';
import { chooseIndexModel, runsOnHost } from '../embedding/model-choice.ts';
import type { Embedding } from '../embedding/open-embedding.ts';
import type { ChunkIndex } from '../index/chunk-index.ts';
import type { IndexWriter } from '../index/writing/index-writer.ts';
import { type JobDefinition, lazyHandler } from '../jobs/handler.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { ProjectionContext } from '../projection/fit-projection.ts';
import type { Projections } from '../projection/projections.ts';
import type { DocumentImages } from '../recognition/document-images.ts';
import type { ReadingContext } from './each-chunk.ts';
import { openChildPool } from './extract/child-pool.ts';
import { ingestOperations } from './job-operations.ts';
import { DeferredVectors } from './reindex/deferred-vectors.ts';
import type { MoveJobs } from './reindex/move-job.ts';
import { reembedHandler } from './reindex/reembed-handler.ts';
import { reembedOperations } from './reindex/reembed-job.ts';
import type { ReindexContext } from './reindex/reindex-bucket.ts';
import { renewTermsChore } from './reindex/renew-terms.ts';
import { retryChore } from './retry-failed.ts';
import type { UploadContext } from './upload.ts';
import { UploadStatements } from './upload-store.ts';
import type { ImportContext } from './vectors/import-vectors.ts';

/** Services that bring documents into the index. */
export interface Ingest {
  readonly uploads: UploadContext;
  /** Context for importing vectors. */
  readonly imports: ImportContext;
  /** Context for reading back a document's text. */
  readonly reading: ReadingContext;
  readonly jobs: readonly JobDefinition[];
  /** Context for embedding a bucket with another model. */
  readonly reembed: MoveJobs;
  /** Context for rebuilding the index of a bucket. */
  readonly reindex: ReindexContext;
  /** Create the service that calibrates models automatically. Only `service serve` runs it. */
  autoCalibration(): Promise<Service>;
  readonly chores: (everyMs: number) => readonly Chore[];
  close(): Promise<void>;
}

export function openIngest(context: {
  readonly config: Pick<Config, 'index' | 'limits' | 'plans' | 'workers' | 'projections'>;
  readonly sql: Sql;
  readonly direct: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly embedding: Pick<Embedding, 'embedder' | 'backends' | 'routing'>;
  readonly calibration: ProjectionContext;
  readonly projections: Projections & { refresh(): Promise<void> };
  readonly localModels: { refresh(): Promise<void> };
  readonly pictures: DocumentImages;
  readonly search: { readonly index: IndexWriter; readonly chunks: ChunkIndex };
}): Ingest {
  const { config, sql, direct, objects, threads, notifier, logger, pictures, projections } = context;
  const { embedder, backends, routing } = context.embedding;
  const { index, chunks } = context.search;
  const children = openChildPool();
  const deferred = new DeferredVectors({ sql, notifier, logger });
  const handler = lazyHandler({ kind: 'ingest', firstPhase: 'extracting' }, async () => {
    const { ingestHandler } = await import('./ingest-handler.ts');
    const parts = { sql, objects, threads, embedder, projections, index, pictures, children };
    return ingestHandler({
      ...parts,
      getModel: (id) => backends.catalog.get(id),
      limits: config.limits,
      isDeferred: async (orgId, origin) =>
        runsOnHost(backends, chooseIndexModel(backends, await routing.of(orgId), origin)),
      onDeferred: (bucketId) => deferred.soon(bucketId),
    });
  });
  const refreshModels = async () => {
    await projections.refresh();
    await context.localModels.refresh();
  };
  const reindex = { ...context.calibration, direct, chunks, index, projections, embedder };
  const reembed = { sql, direct, config, objects, projections, notifier, logger, ...context.embedding };
  return {
    imports: { sql, objects, notifier, logger, plans: config.plans, projections, catalog: backends.catalog },
    uploads: {
      sql,
      objects,
      notifier,
      logger,
      plans: config.plans,
      recentBuckets: new RecentBuckets(),
      statements: new UploadStatements(),
    },
    reading: { sql, objects },
    jobs: [
      { ...handler, ...ingestOperations(), worker: 'ingest', concurrency: config.workers.ingestConcurrency },
      {
        ...reembedHandler({ ...reindex, ...reembed, refreshModels, onDeferred: (bucketId) => deferred.soon(bucketId) }),
        ...reembedOperations(),
        worker: 'ingest',
        concurrency: 1,
      },
    ],
    reindex,
    reembed,
    async autoCalibration() {
      const { autoCalibration } = await import('./calibration/auto-calibration.ts');
      return autoCalibration({ config, direct, backends, calibration: context.calibration, projections, reembed });
    },
    chores: (everyMs) => [
      retryChore({ sql, notifier, logger }, everyMs),
      deferred.chore(everyMs),
      renewTermsChore({ ...reindex, logger }, everyMs),
    ],
    async close() {
      deferred.close();
      children.close();
    },
  };
}
