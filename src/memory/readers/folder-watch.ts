import { type FSWatcher, watch } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { FolderPlace } from './folder-reader.ts';
import { isWithin } from './list-folder.ts';

/** Maximum number of watched folders per tree, since each uses a system watch. Further ones need a schedule. */
const FOLDERS_MAX = 1_000;
/** Quiet period before changes are reported. */
const QUIET_MS = 1_000;

/** Watches on the folders of a tree. They don't keep the process running. */
export class FolderWatch {
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

  /** @param onChange called when changes pause */
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

  /** Watch a folder and its subfolders. On Linux, Node's recursive mode would open a watch per file. */
  async #add(top: string): Promise<void> {
    const pending = [top];
    for (let folder = pending.pop(); folder !== undefined; folder = pending.pop()) {
      if (this.#stop.aborted || this.#watchers.size >= FOLDERS_MAX) return;
      if (this.#watchers.has(folder) || isWithin(this.#place.dataDir, folder)) continue;
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
      // The system has no more watches, or the folder is gone. A schedule finds the changes.
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
