import { createHash, randomUUID } from 'node:crypto';
import { link, readFile, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { tryLater } from '../errors.ts';
import { type Liveness, livenessOf, ownIdentity, ProcessIdentity } from './process-identity.ts';

const POLL_MS = 10;
const WAIT_MS = 180_000;
/**
 * Age after which a holder in another container, which cannot be checked, counts as dead. No critical section takes
 * this long.
 */
const FOREIGN_HOLDER_MS = 120_000;

/**
 * Run `fn` while holding the lock file `file`. At most one process does so at a time. The lock of a dead process is
 * recognised and taken over. The file contains the identity of its holder from the start: it is written under another
 * name and then linked (`link` fails if the name exists).
 *
 * The takeover must not race. If two processes that both find a dead holder each removed the file, the second would
 * remove the lock that the first has just taken. Therefore no process removes the file of a dead holder. The right to
 * succeed the holder with contents C is itself a lock file, named after the hash of C, and its holder may also die and
 * be succeeded. The process that links the end of this chain holds the lock. Release removes the chain from the front,
 * so a chain whose front is unchanged has not been released.
 * @throws AppError `data_directory_busy` if the lock is not acquired within `waitMs`
 */
export async function withFileLock<T>(
  file: string,
  fn: () => Promise<T>,
  options: { waitMs?: number; onCreate?: (file: string) => Promise<void> } = {},
): Promise<T> {
  const chain = await acquire(file, options);
  try {
    return await fn();
  } finally {
    for (const link of chain) await removeFile(link);
  }
}

async function acquire(
  file: string,
  options: { waitMs?: number; onCreate?: (file: string) => Promise<void> },
): Promise<string[]> {
  const waitMs = options.waitMs ?? WAIT_MS;
  const deadline = performance.now() + waitMs;
  const claim = `${file}-${randomUUID()}`;
  await writeFile(claim, JSON.stringify({ ...(await ownIdentity()), nonce: randomUUID() }), {
    flag: 'wx',
    mode: 0o644,
  });
  try {
    await options.onCreate?.(claim);
    for (;;) {
      const chain = await tryAcquire(file, claim);
      if (chain !== null) {
        const now = new Date();
        await utimes(claim, now, now); // the lock is the same inode, so its age is that of the critical section
        return chain;
      }
      if (performance.now() > deadline) {
        throw tryLater(
          `another process has been holding ${file} for ${Math.round(waitMs / 1000)} s; if no process of the service is starting or stopping, remove that file`,
          'data_directory_busy',
        );
      }
      await delay(POLL_MS * (0.5 + Math.random()));
    }
  } finally {
    await removeFile(claim);
  }
}

/** Try to acquire the lock. Return the chain of files to remove on release, or null if a living process holds it. */
async function tryAcquire(file: string, claim: string): Promise<string[] | null> {
  const chain: string[] = [];
  let front: string | null = null;
  for (let candidate = file; ; ) {
    chain.push(candidate);
    if (await linkIfAbsent(claim, candidate)) {
      if (candidate === file) return chain;
      if ((await readIfPresent(file)) === front) return chain;
      await removeFile(candidate); // the chain was released in the meantime
      return null;
    }
    const holder = await readIfPresent(candidate);
    if (holder === null) return null;
    front ??= holder;
    if ((await holderLiveness(candidate, holder)) === 'alive') return null;
    candidate = `${file}.${createHash('sha256').update(holder).digest('hex').slice(0, 16)}`;
  }
}

async function holderLiveness(file: string, content: string): Promise<Liveness> {
  const identity = ProcessIdentity.safeParse(parseJson(content));
  if (!identity.success) return 'dead'; // only a power failure leaves an incomplete file
  const liveness = await livenessOf(identity.data);
  if (liveness !== 'unknown') return liveness;
  const written = await stat(file).catch(() => null);
  return written !== null && Date.now() - written.mtimeMs > FOREIGN_HOLDER_MS ? 'dead' : 'alive';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function linkIfAbsent(existing: string, name: string): Promise<boolean> {
  try {
    await link(existing, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function readIfPresent(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

async function removeFile(file: string): Promise<void> {
  try {
    await unlink(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
