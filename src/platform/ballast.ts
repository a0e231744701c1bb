import { randomFillSync } from 'node:crypto';
import { open, rename, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Chore } from './chores.ts';
import type { Logger } from './logger.ts';

const MIB = 1024 * 1024;
/** Free space below which the disk counts as full. PostgreSQL writes its log in files of 16 MiB. */
const FULL_BYTES = 16 * MIB;
/** Free space that must remain after the file is created, as a multiple of its size. */
const FREE_FACTOR = 2;
const BLOCK_BYTES = MIB;
const CHECK_MS = 5_000;
const SETTLED_MS = 60_000;

/**
 * State of the ballast file. `off`: the size is 0; `missing`: it was released, or the disk is too full to create it.
 */
export type BallastState = 'off' | 'present' | 'missing';

export interface BallastOptions {
  readonly dataDir: string;
  /** Size of the file; 0 for none. */
  readonly bytes: number;
}

/** Return the name of the ballast file. Deleting it frees space when the disk is full. */
export function ballastFile(dataDir: string): string {
  return path.join(dataDir, 'ballast');
}

export async function ballastState({ dataDir, bytes }: BallastOptions): Promise<BallastState> {
  if (bytes === 0) return 'off';
  return (await sizeOf(ballastFile(dataDir))) === null ? 'missing' : 'present';
}

/** Delete the ballast file. Return the number of bytes freed, or null if there was no file. */
export async function releaseBallast(dataDir: string): Promise<number | null> {
  const file = ballastFile(dataDir);
  const bytes = await sizeOf(file);
  if (bytes !== null) await rm(file, { force: true });
  return bytes;
}

/** Delete the ballast file if the disk is full. Return the number of bytes freed, or null. */
export async function releaseBallastIfFull(dataDir: string): Promise<number | null> {
  const freeBytes = await freeBytesOf(dataDir);
  return freeBytes !== null && freeBytes < FULL_BYTES ? releaseBallast(dataDir) : null;
}

/**
 * Create the ballast file unless it exists or the disk has too little space for it. Its content is such that no file
 * system can omit or compress the blocks.
 * @returns true if the file exists afterwards
 */
export async function createBallast({ dataDir, bytes }: BallastOptions, signal: AbortSignal): Promise<boolean> {
  const file = ballastFile(dataDir);
  if (bytes === 0) return false;
  if ((await sizeOf(file)) !== null) return true;
  const freeBytes = await freeBytesOf(dataDir);
  if (freeBytes === null || freeBytes < freeBytesForBallast(bytes)) return false;
  const draft = `${file}.${process.pid}`;
  try {
    await writeBlocks(draft, bytes, signal);
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
  return true;
}

/** Return the free space that the disk needs before the ballast file is created. */
export function freeBytesForBallast(bytes: number): number {
  return bytes * (1 + FREE_FACTOR);
}

async function writeBlocks(file: string, bytes: number, signal: AbortSignal): Promise<void> {
  const block = randomFillSync(Buffer.allocUnsafe(BLOCK_BYTES));
  const handle = await open(file, 'w', 0o600);
  try {
    for (let left = bytes; left > 0; left -= BLOCK_BYTES) {
      signal.throwIfAborted();
      await handle.write(block, 0, Math.min(left, BLOCK_BYTES));
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Create the chore that deletes the ballast file when the disk is full, and recreates it once there is space.
 * @param settledMs delay before the file is first created, so that it doesn't slow down startup
 */
export function ballastChore(options: BallastOptions, logger: Logger, settledMs: number = SETTLED_MS): Chore {
  const { dataDir } = options;
  const sinceMs = performance.now();
  return {
    name: 'check of the ballast file',
    everyMs: CHECK_MS,
    async run(signal) {
      const freed = await releaseBallastIfFull(dataDir);
      if (freed !== null) {
        logger.error(
          { freed_bytes: freed, data_dir: dataDir },
          'the disk is full: the ballast file was deleted, so that the service can go on for a while; free some space',
        );
        return;
      }
      if (performance.now() - sinceMs >= settledMs) await createBallast(options, signal);
    },
  };
}

async function sizeOf(file: string): Promise<number | null> {
  return (await stat(file).catch(() => null))?.size ?? null;
}

/** Return the free bytes of the file system that holds a folder; null if unknown. */
export async function freeBytesOf(directory: string): Promise<number | null> {
  const disk = await statfs(directory).catch(() => null);
  return disk && disk.bavail * disk.bsize;
}
