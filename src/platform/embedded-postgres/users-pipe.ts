import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DataDirectory } from './data-directory.ts';
import { run, serverProcessOptions } from './run.ts';

/** Time after the last user's death in which another process can take over the server. */
const UNUSED_SECONDS = 15;

/**
 * Program that waits until no process holds the pipe, and then stops the server unless it has new users. The kernel
 * closes the pipe of a killed process, so the program needn't poll. As a shell script, it takes little memory.
 */
const WATCH = `
while cat "$1" >/dev/null 2>&1; do
  [ -e "$2" ] || exit 0
  sleep "$3"
  [ -e "$2" ] || exit 0
  "$4" --no-warnings "$5" "$6" && exit 0
done`;

/**
 * Hold the pipe of the server's users until the handle is closed or this process dies. Return null if the file system
 * has no pipes. The server of killed processes then runs until the next process that uses it ends.
 */
export async function holdUsersPipe(data: DataDirectory): Promise<FileHandle | null> {
  try {
    const found = await lstat(data.usersPipe).catch(() => null);
    if (found?.isFIFO() !== true) {
      const made = await run('mkfifo', ['-m', '600', data.usersPipe]);
      if (made.status === 0) await data.own(data.usersPipe);
    }
    // Open it for reading and writing: opening one end would block until another process opens the other.
    const handle = await open(data.usersPipe, constants.O_RDWR | constants.O_NONBLOCK);
    if ((await handle.stat()).isFIFO()) return handle;
    await handle.close();
    return null;
  } catch {
    return null;
  }
}

/** Start the program that stops the server after all its users were killed. It outlives this process. */
export function watchUsersPipe(data: DataDirectory): void {
  const script = fileURLToPath(new URL('./stop-unused.ts', import.meta.url));
  const pidFile = path.join(data.cluster, 'postmaster.pid');
  const args = [data.usersPipe, pidFile, String(UNUSED_SECONDS), process.execPath, script, data.path];
  const child = spawn('/bin/sh', ['-c', WATCH, 'service-postgres-watch', ...args], {
    ...serverProcessOptions(null),
    detached: true,
    stdio: 'ignore',
  });
  child.on('error', () => undefined); // without a shell, the server stops as on a file system without pipes
  child.unref();
}
