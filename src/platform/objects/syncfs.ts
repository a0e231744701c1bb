import { statfsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { release } from 'node:os';

/** File systems on which `syncfs` is as durable as flushing each file: ext4, XFS, Btrfs, F2FS. */
const FILE_SYSTEMS = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010]);
/** First Linux version whose `syncfs` reports write errors. */
const LINUX_MIN = [5, 8] as const;

/** Function that flushes the file system of an open folder, and returns when done. @throws Error if that fails */
export type Syncfs = (fd: number) => void;

/** Load `syncfs(2)`. Return null if this system lacks it, or if it guarantees less than flushing each file. */
export function loadSyncfs(folder: string): Syncfs | null {
  if (process.platform !== 'linux' || !isNewEnough(release())) return null;
  if (!FILE_SYSTEMS.has(statfsSync(folder).type)) return null;
  const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
  const library = koffi.load(null);
  // Keep the function with its library, which koffi unloads once it is unreachable.
  const held = { library, syncfs: library.func('int syncfs(int fd)') };
  return (fd) => {
    if (held.syncfs(fd) !== 0) throw new Error('the file system was not flushed');
  };
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return major > LINUX_MIN[0] || (major === LINUX_MIN[0] && minor >= LINUX_MIN[1]);
}
