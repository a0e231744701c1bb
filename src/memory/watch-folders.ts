import { notifyWorkers } from '../jobs/notifier.ts';
import type { Service } from '../platform/lifecycle.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import { findConnection } from './connections.ts';
import { queueSync } from './queue-sync.ts';
import { CONFIG_BY_TYPE } from './readers/configs.ts';
import { type FolderPlace, resolveFolder } from './readers/folder-reader.ts';
import { FolderWatch } from './readers/folder-watch.ts';
import { listFolderSources, lockSource, type Source } from './source-store.ts';
import type { SourcesContext } from './sources.ts';

const SOURCES_MAX = 200;
const RECONCILE_MS = 5_000;

/**
 * Create the service that watches the folders of all folder sources and queues a synchronisation after a change. It
 * complements schedules, since events may be lost and network file systems send none.
 */
export function folderWatcher(context: SourcesContext & { readonly dataDir: string }): Service {
  const watches = new Map<string, FolderWatch>();
  const stop = new AbortController();
  const queue = async (source: Source) => {
    await context.sql.begin(async (tx) => {
      const current = await lockSource(tx, source.orgId, source.id);
      if (current !== null && !current.isPaused) await queueSync(tx, current);
    });
    await notifyWorkers(context, 'sync');
  };
  const reconcile = repeatingTask('watching of folders', RECONCILE_MS, context.logger, async () => {
    const sources = await listFolderSources(context.sql, SOURCES_MAX);
    const ids = new Set(sources.map(({ id }) => id));
    for (const [id, watched] of watches) {
      if (ids.has(id) && !watched.isBroken) continue;
      watched.close();
      watches.delete(id);
    }
    for (const source of sources) {
      if (watches.has(source.id) || stop.signal.aborted) continue;
      const place = await placeOf(context, source);
      if (place === null) continue;
      const onChange = () => queue(source).catch((err) => context.logger.warn({ err }, 'a change could not be queued'));
      watches.set(source.id, await FolderWatch.open(place, onChange, stop.signal));
    }
  });
  return {
    name: 'folder watcher',
    start: (signal) => reconcile.start(signal),
    async stop() {
      stop.abort();
      await reconcile.stop();
      for (const watched of watches.values()) watched.close();
      watches.clear();
    },
  };
}

/** Resolve the folder of a source. Return null if it is missing or not on this host. */
async function placeOf(
  { sql, connections, dataDir }: SourcesContext & { readonly dataDir: string },
  source: Source,
): Promise<FolderPlace | null> {
  const connection = await findConnection(sql, connections, source);
  const config = CONFIG_BY_TYPE.folder.safeParse(source.config);
  if (connection?.type !== 'folder' || !config.success) return null;
  return resolveFolder({ root: connection.root, path: config.data.path, dataDir }).catch(() => null);
}
