import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Service } from '../platform/lifecycle.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import { notifySync, queueSync } from './queue-sync.ts';
import { type FolderPlace, resolveFolder } from './readers/folder-reader.ts';
import { CONFIG_BY_TYPE } from './schema.ts';
import { listFolderSources, lockSource, type Source } from './source-store.ts';
import type { SourcesContext } from './sources.ts';

const SOURCES_MAX = 200;
/** Folders that are watched for one source, since each takes a watch of the system; a schedule covers the others. */
const FOLDERS_MAX = 1_000;
const RECONCILE_MS = 5_000;
/** Time to wait for further changes before a synchronisation is queued. */
const QUIET_MS = 1_000;

/**
 * Service that watches the folders of all folder sources and queues a synchronisation after a change. It is a help
 * between schedules: events may be lost, and file systems over a network have none.
 */
export function folderWatcher(context: SourcesContext & { readonly dataDir: string }): Service {
  const watches = new Map<string, FolderWatch>();
  const stop = new AbortController();
  const queue = async (source: Source) => {
    await context.sql.begin(async (tx) => {
      const current = await lockSource(tx, source.orgId, source.id);
      if (current !== null) await queueSync(tx, current);
    });
    await notifySync(context);
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

/** Resolve the folder of a source; null if it is not there, or not on this host. */
async function placeOf(
  { connections, dataDir }: SourcesContext & { readonly dataDir: string },
  source: Source,
): Promise<FolderPlace | null> {
  const connection = Object.hasOwn(connections, source.connection) ? connections[source.connection] : undefined;
  const config = CONFIG_BY_TYPE.folder.safeParse(source.config);
  if (connection?.type !== 'folder' || !config.success) return null;
  return resolveFolder({ root: connection.root, path: config.data.path, dataDir }).catch(() => null);
}

/** Watches of the folders of one tree. */
class FolderWatch {
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #place: FolderPlace;
  readonly #onChange: () => void;
  readonly #stop: AbortSignal;
  #isWaiting = false;
  #isBroken = false;

  private constructor(place: FolderPlace, onChange: () => void, stop: AbortSignal) {
    this.#place = place;
    this.#onChange = onChange;
    this.#stop = stop;
  }

  static async open(place: FolderPlace, onChange: () => void, stop: AbortSignal): Promise<FolderWatch> {
    const opened = new FolderWatch(place, onChange, stop);
    await opened.#add(place.base);
    return opened;
  }

  /** True once the system has ended a watch, for example because the folder was removed. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  close(): void {
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }

  /** Watch a folder and those below it. Recursive watching of Node opens a watch for each file on Linux. */
  async #add(top: string): Promise<void> {
    const pending = [top];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      if (this.#stop.aborted || this.#watchers.size >= FOLDERS_MAX) return;
      if (this.#watchers.has(folder) || folder.startsWith(this.#place.dataDir)) continue;
      const items = await readdir(folder, { withFileTypes: true }).catch(() => null);
      if (items === null) continue;
      this.#watch(folder);
      pending.push(...items.filter((item) => item.isDirectory()).map((item) => path.join(folder as string, item.name)));
    }
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => void this.#changed());
      watcher.on('error', () => {
        this.#isBroken = true;
      });
      this.#watchers.set(folder, watcher);
    } catch {
      // The system has no more watches, or the folder is gone; a schedule finds the changes.
    }
  }

  /** Wait until changes pause, watch new folders, and report the changes once. */
  async #changed(): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    await delay(QUIET_MS, undefined, { signal: this.#stop }).catch(() => undefined);
    this.#isWaiting = false;
    if (this.#stop.aborted) return;
    await this.#add(this.#place.base).catch(() => undefined);
    for (const [folder, watcher] of this.#watchers) {
      if ((await readdir(folder).catch(() => null)) !== null) continue;
      watcher.close();
      this.#watchers.delete(folder);
      if (folder === this.#place.base) this.#isBroken = true;
    }
    this.#onChange();
  }
}
