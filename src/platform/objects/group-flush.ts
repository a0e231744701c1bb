import { open, statfs } from 'node:fs/promises';
import { release } from 'node:os';

/** Flushes at work at the same time, one by one. */
const ALONE_MAX = 4;
/** Waiting files from which all of them are done by one flush of the file system. */
const GROUP_MIN = 8;
/** File systems on which flushing the whole has the effect of flushing each file: ext4, XFS, Btrfs, F2FS. */
const FILE_SYSTEMS = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010]);
/** First Linux whose `syncfs` reports that data could not be written. */
const LINUX_MIN = [5, 8] as const;

/** Flushes the file system of an open folder, and waits until that is done. */
type Syncfs = (fd: number) => Promise<void>;

interface Waiting {
  /** Number of files. */
  readonly files: number;
  readonly alone: () => Promise<void>;
  readonly resolve: (done: Promise<void> | void) => void;
}

/**
 * Flushes files and folders of one file system. Few are flushed one by one. Where many wait, which is so when many small
 * files are written at a time, all of them are flushed by one call of `syncfs`, which takes about as long as one file.
 */
export class GroupFlusher {
  readonly #folder: string;
  #waiting: Waiting[] = [];
  #alone = 0;
  #isGroupAtWork = false;
  readonly #load: (folder: string) => Promise<Syncfs | null>;
  #syncfs: Promise<Syncfs | null> | null = null;

  /**
   * @param folder a folder of the file system
   * @param load loads the flush of the whole file system; null: there is none
   */
  constructor(folder: string, load = loadSyncfs) {
    this.#folder = folder;
    this.#load = load;
  }

  /**
   * Flush something that was written before the call.
   *
   * @param alone flushes only this
   * @param files number of files that `alone` flushes
   * @throws what `alone` throws
   */
  flush(alone: () => Promise<void>, files = 1): Promise<void> {
    const isFree = !this.#isGroupAtWork && this.#alone < ALONE_MAX && this.#waiting.length === 0;
    if (isFree && files < GROUP_MIN) return this.#flushAlone(alone);
    return new Promise((resolve) => {
      this.#waiting.push({ alone, files, resolve });
      this.#next();
    });
  }

  async #flushAlone(alone: () => Promise<void>): Promise<void> {
    this.#alone++;
    try {
      await alone();
    } finally {
      this.#alone--;
      this.#next();
    }
  }

  #next(): void {
    // Those that come while a group is flushed are the next group.
    if (this.#isGroupAtWork) return;
    if (this.#waiting.reduce((sum, { files }) => sum + files, 0) >= GROUP_MIN) {
      const group = this.#waiting.splice(0);
      this.#isGroupAtWork = true;
      const done = this.#flushGroup();
      // Those that one call could not flush are flushed one by one.
      for (const { alone, resolve } of group) resolve(done.then((isDone) => (isDone ? undefined : alone())));
      void done.then(() => {
        this.#isGroupAtWork = false;
        this.#next();
      });
      return;
    }
    while (this.#waiting.length > 0 && this.#alone < ALONE_MAX) {
      const { alone, resolve } = this.#waiting.shift() as Waiting;
      resolve(this.#flushAlone(alone));
    }
  }

  /** Flush the whole file system. Return false if that failed, or is not possible here; never rejects. */
  async #flushGroup(): Promise<boolean> {
    this.#syncfs ??= this.#load(this.#folder).catch(() => null);
    const syncfs = await this.#syncfs;
    if (syncfs === null) return false;
    try {
      const folder = await open(this.#folder, 'r');
      try {
        await syncfs(folder.fd);
      } finally {
        await folder.close();
      }
      return true;
    } catch {
      return false;
    }
  }
}

/** Load `syncfs(2)`. Null: this system has none, or it does less than flushing each file. */
async function loadSyncfs(folder: string): Promise<Syncfs | null> {
  if (process.platform !== 'linux' || !isNewEnough(release())) return null;
  if (!FILE_SYSTEMS.has((await statfs(folder)).type)) return null;
  const { default: koffi } = await import('koffi');
  const library = koffi.load(null);
  // Held with its library, which koffi unloads once it is not reachable.
  const held = { library, syncfs: library.func('int syncfs(int fd)') };
  return (fd) =>
    new Promise((resolve, reject) => {
      held.syncfs.async(fd, (error: unknown, result: number) => {
        if (error || result !== 0) reject(error ?? new Error('the file system was not flushed'));
        else resolve();
      });
    });
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > LINUX_MIN[0] || (major === LINUX_MIN[0] && minor >= LINUX_MIN[1]);
}
