import type { JobDefinition } from '../jobs/handler.ts';
import type { JobNotifier } from '../jobs/notifier.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { SearchContext } from '../search/search.ts';
import { openPreviewGate, type PreviewContext } from './preview-source.ts';
import { describeConnection } from './readers/tables/postgres-table-store.ts';
import { removeDeletedCopies } from './remove-copies.ts';
import { queueDueSources, type SourcesContext } from './sources.ts';
import { syncHandler, syncOperations } from './sync-handler.ts';
import { folderWatcher } from './watch-folders.ts';

/** Interval between checks for due schedules. Cron expressions have a resolution of one minute. */
const DUE_EVERY_MS = 10_000;
const COPIES_EVERY_MS = 600_000;
/** Maximum number of concurrent synchronisations per worker. */
const CONCURRENCY = 2;

/** Connected sources, their synchronisation, and searches over them. */
export interface Memory extends SourcesContext {
  readonly search: SearchContext;
  readonly previews: PreviewContext;
  readonly jobs: JobDefinition;
  readonly chores: (everyMs: number) => readonly Chore[];
  /** Create the service that watches the folders of local sources. */
  watcher(): Service;
}

export function openMemory(context: {
  readonly config: Pick<Config, 'sources' | 'dataDir' | 'limits'>;
  readonly sql: Sql;
  readonly objects: Objects;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly search: SearchContext;
}): Memory {
  const { config, sql, objects, notifier, logger, search } = context;
  const { sources: connections, dataDir } = config;
  const sources: SourcesContext = { sql, notifier, logger, connections };
  const readers = {
    sql,
    connections,
    dataDir,
    logger,
    bytesMax: config.limits.uploadBytes,
    ownIdentity: async () => (await describeConnection(sql)).identity,
  };
  const handler = syncHandler({ sql, objects, readers, notifier, logger });
  return {
    ...sources,
    search,
    previews: { readers, embedder: search.embedder, gate: openPreviewGate() },
    jobs: { ...handler, ...syncOperations(), worker: 'ingest', concurrency: CONCURRENCY },
    chores: (everyMs) => [
      {
        name: 'queueing of scheduled sources',
        everyMs: Math.min(DUE_EVERY_MS, everyMs),
        run: async () => void (await queueDueSources(sources)),
      },
      {
        name: 'removal of copies of deleted sources',
        everyMs: Math.min(COPIES_EVERY_MS, everyMs),
        run: () => removeDeletedCopies(sql, dataDir),
      },
    ],
    watcher: () => folderWatcher({ ...sources, dataDir }),
  };
}
