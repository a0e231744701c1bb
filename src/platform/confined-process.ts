import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { confine, findConfinement, releaseUser, spawnUser, withOwnUser } from './confinement.ts';
import { LOWER_PRIORITY } from './lower-priority.ts';

/** Main module of a process that receives its code on stdin. */
const RUN_STRIPPED = fileURLToPath(new URL('./run-stripped.mjs', import.meta.url));

export type ConfinedProcess = ChildProcessByStdio<Writable, Readable, Readable>;

const MIB = 1024 * 1024;
/** Address space that V8 reserves for compiled code; it counts against the data limit and is hardly used. */
const CODE_RANGE_BYTES = 512 * MIB;

/**
 * Start a module in a process that handles untrusted input. It may read `readable` and nothing else. It can write no
 * file, start no process, load no addon and create no code from strings. Its environment is empty. Where the system
 * allows it, the kernel denies it the network and other files, and gives it its own user (see confinement.ts). Its
 * priority is below that of this process, so that requests take precedence over reading documents and images.
 * @param options.name name in the list of processes
 * @param options.argument the first argument, passed as JSON
 * @param options.sources modules without types (`strippedSources`) to send on stdin first; null if the process reads
 *   them itself
 * @param options.memoryBytesMax enforced by the kernel's data limit; POSIX only
 * @param options.cpuSeconds ends a busy process after its parent was killed; POSIX only
 * @throws Error of the system if the process cannot be started
 */
export async function startConfined(options: {
  readonly name: string;
  readonly module: URL;
  readonly argument: object;
  readonly sources?: Buffer | null;
  readonly readable: readonly string[];
  readonly heapMib: number;
  readonly memoryBytesMax: number;
  readonly cpuSeconds: number;
}): Promise<ConfinedProcess> {
  const { sources = null } = options;
  const readable = sources === null ? options.readable : [...options.readable, RUN_STRIPPED];
  const confinement = withOwnUser(await findConfinement(readable));
  const user = spawnUser(confinement);
  const node = [
    process.execPath,
    '--permission',
    ...readable.map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${options.heapMib}`,
    '--v8-pool-size=1',
    '--no-warnings',
    sources === null ? fileURLToPath(options.module) : RUN_STRIPPED,
    JSON.stringify(options.argument),
    ...(sources === null ? [] : [options.module.href]),
  ];
  const limits = [options.cpuSeconds, Math.ceil((options.memoryBytesMax + CODE_RANGE_BYTES) / 1024)].map(String);
  // Linux may divide the cores among sessions. `nice` then counts only within the session, and this process starts one.
  const lowerPriority = `echo ${LOWER_PRIORITY} >/proc/self/autogroup; command -v nice >/dev/null && set -- nice -n ${LOWER_PRIORITY} "$@"`;
  const script = `ulimit -c 0; ulimit -f 0; ulimit -t "$1"; ulimit -d "$2"; shift 2; ${lowerPriority}; exec "$@" 2>&3 3>&-`;
  const [command, ...args] =
    process.platform === 'win32'
      ? node
      : [
          ...['/bin/sh', '-c', `{ ${script}; } 3>&2 2>/dev/null`, options.name, ...limits],
          ...confine(confinement, node),
        ];
  const child = spawn(command as string, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
    // The process gets its own process group: a Ctrl-C at the terminal is meant for us, and we may still need the
    // result.
    detached: process.platform !== 'win32',
    windowsHide: true,
    ...(user === null ? {} : { uid: user.uid, gid: user.gid }),
  });
  child.once('close', () => releaseUser(confinement));
  child.once('error', () => releaseUser(confinement));
  await once(child, 'spawn'); // Without free file descriptors, the pipes don't exist.
  if (sources !== null) {
    child.stdin.on('error', () => undefined); // It died before reading them; its exit reports that.
    child.stdin.write(sources);
  }
  return child;
}
