import { type FSWatcher, watch } from 'node:fs';
import type { TableFiles } from './table-copy.ts';

/** Tables that are watched at a time: a system limits the watches of a user. */
const WATCHED_MAX = 64;
/** Time without a commit after which a table is not watched any more. */
const IDLE_MS = 60_000;

interface Watched {
  readonly watcher: FSWatcher;
  lastMs: number;
}

/**
 * Watches the folders of tables that another process writes, which puts the rows of each commit into a file before it publishes
 * the version. Where a file system tells nothing, copies are brought up to date by searches alone.
 */
export class CommitWatch {
  readonly #watched = new Map<string, Watched>();

  /** Watch a table, unless it is watched. @param onCommit called with the version of each commit that has a file */
  add(name: string, { folder, versionOf }: TableFiles, onCommit: (version: number) => void): void {
    if (this.#watched.has(name) || this.#watched.size >= WATCHED_MAX) return;
    try {
      const watcher = watch(folder, { persistent: false });
      const watched: Watched = { watcher, lastMs: performance.now() };
      this.#watched.set(name, watched);
      watcher.on('error', () => this.remove(name));
      watcher.on('change', (_, file) => {
        const version = file === null ? null : versionOf(String(file));
        if (version === null) return;
        watched.lastMs = performance.now();
        onCommit(version);
      });
    } catch {
      // The folder is gone, or there are too many watches.
    }
  }

  remove(name: string): void {
    this.#watched.get(name)?.watcher.close();
    this.#watched.delete(name);
  }

  /** Stop to watch tables that were not written lately. */
  removeIdle(): void {
    const untilMs = performance.now() - IDLE_MS;
    for (const [name, { lastMs }] of this.#watched) if (lastMs < untilMs) this.remove(name);
  }

  close(): void {
    for (const name of this.#watched.keys()) this.remove(name);
  }
}
