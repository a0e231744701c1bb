import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, type ServerUser } from './embedded-postgres/run.ts';

/** Means by which the kernel confines a process, in addition to the JavaScript permission model. */
export interface Confinement {
  /** Command that runs the command appended to it inside the namespaces; null for none. */
  readonly enter: readonly string[] | null;
  /** User id without an account, if this process is root; null to keep this process's user. */
  readonly user: ServerUser | null;
}

/** Absolute paths of programs of util-linux and coreutils. */
type Tools = Readonly<Record<'unshare' | 'nsenter' | 'mount' | 'chroot' | 'setpriv', string>>;

const PROGRAM_FOLDERS = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/run/current-system/sw/bin'];
/** Folders that a program on Linux needs to start: the loader and its libraries. */
const LIBRARIES = ['/lib', '/lib32', '/lib64', '/usr/lib', '/usr/lib64', '/usr/local/lib', '/nix/store'];
/** User ids that systemd documents as unused and no distribution assigns. */
const UIDS = { first: 60_931, last: 61_183 };
const PREPARE_MS_MAX = 60_000;
/** Error codes of a system that cannot start a process at present. */
const WANT = /\b(?:EMFILE|ENFILE|EAGAIN|ENOMEM)\b/;
const NAMESPACES = ['net', 'mnt', 'ipc'] as const;

/**
 * Script that builds a root file system of read-only folders under `/sys`, reports that, and waits for the end of its
 * input. `/sys` merely serves as the mount point, in a separate mount namespace. Arguments: the program `mount`, then
 * the folders and files.
 */
const BUILD_ROOT = `
set -e
umask 022
mount=$1
shift
"$mount" -n -t tmpfs -o size=1m,mode=755,nosuid,nodev tmpfs /sys
for each in "$@"; do
  if [ -d "$each" ]; then mkdir -p "/sys$each"; else mkdir -p "/sys\${each%/*}"; : >"/sys$each"; fi
  "$mount" -n -o bind,ro "$each" "/sys$each" 2>/dev/null || "$mount" -n --bind "$each" "/sys$each"
done
mkdir /sys/proc
"$mount" -n --rbind /proc /sys/proc
"$mount" -n -o remount,bind,ro,nosuid,nodev /sys
echo ready
read -r end || exit 0
`;

const found = new Map<string, Promise<Confinement>>();

/**
 * Find the strongest confinement that works on this system for processes that read `readable`, by starting one under
 * it. Keep the result for the life of this process, so that no later fault weakens it. Find nothing while the system
 * lacks the resources to start a process, since that would weaken the result too.
 *
 * With namespaces, a process has no network, no capabilities, and a file system of `readable`, its program and the
 * system's libraries, all read-only. It cannot reach the sockets of other processes.
 * @throws Error if no process can be started for want of file descriptors, processes or memory
 */
export function findConfinement(readable: readonly string[]): Promise<Confinement> {
  const folders = rootFolders(readable);
  const key = folders.join('\n');
  const known = found.get(key);
  if (known) return known;
  const confinement = probe(folders, readable[0]);
  found.set(key, confinement);
  confinement.catch(() => found.delete(key));
  return confinement;
}

/** Throw if a process failed to start for a `reason` that says nothing about confinement. @throws Error */
function refuseWant(reason: string): void {
  if (!WANT.test(reason)) return;
  throw new Error(`no process can be started to find out how processes are confined: ${reason}`);
}

async function probe(folders: readonly string[], file: string | undefined): Promise<Confinement> {
  const tools = findTools();
  const prepared = tools === null ? null : prepareNamespaces(tools, folders);
  const enter = await prepared?.catch((error: unknown) => refuseWant(String(error)));
  const own = isRoot() ? (unusedUsers()[0] ?? null) : null;
  const users = own === null ? [null] : [own, null];
  for (const confinement of [enter ?? null, null].flatMap((each) => users.map((user) => ({ enter: each, user })))) {
    if (confinement.enter === null && confinement.user === null) break;
    if (await works(confinement, file ?? fileURLToPath(import.meta.url))) return confinement;
  }
  return { enter: null, user: null };
}

/** Return true if a process under `confinement` starts and can read a file or folder. */
async function works(confinement: Confinement, file: string): Promise<boolean> {
  const node = [process.execPath, '-e', 'fs.accessSync(process.argv[1], fs.constants.R_OK)', file];
  const [command = '', ...args] = confine(confinement, node);
  const { status, stderr } = await run(command, args, { user: spawnUser(confinement), timeoutMs: PREPARE_MS_MAX });
  if (status === null) refuseWant(stderr);
  return status === 0;
}

/** Return the user that should start the command of `confine`. With namespaces, the command itself changes the user. */
export function spawnUser({ enter, user }: Confinement): ServerUser | null {
  return enter === null ? user : null;
}

/** Wrap a command with its arguments, so that it runs confined. */
export function confine({ enter, user }: Confinement, command: readonly string[]): string[] {
  if (enter === null) return [...command];
  const asUser = user === null ? [] : [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'];
  return [...enter, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all', ...asUser, ...command];
}

/**
 * Create namespaces whose root contains `folders`. Only open files of this process keep them alive, so they end with
 * it. A child enters existing namespaces much faster than it could create them.
 * @returns the command that enters them, up to the options of `setpriv`
 */
async function prepareNamespaces(tools: Tools, folders: readonly string[]): Promise<string[]> {
  // Only root can create namespaces without a user namespace. Inside a user namespace, it appears as root without being
  // root.
  const asUser = isRoot() ? [] : ['--user', '--map-root-user'];
  const options = [...asUser, '--net', '--mount', '--ipc', '--propagation', 'private'];
  const script = ['/bin/sh', '-c', BUILD_ROOT, 'confine', tools.mount, ...folders, tools.setpriv];
  const maker = spawn(tools.unshare, [...options, ...script], {
    cwd: '/',
    env: {},
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: PREPARE_MS_MAX,
    killSignal: 'SIGKILL',
  });
  await once(maker, 'spawn'); // Without free file descriptors, the pipes don't exist.
  const exited = once(maker, 'exit').catch(() => {});
  try {
    await readiness(maker);
    const names = isRoot() ? NAMESPACES : (['user', ...NAMESPACES] as const);
    const files = names.map((name) => `--${OPTIONS[name]}=/proc/${process.pid}/fd/${openNamespace(maker, name)}`);
    const kept = isRoot() ? [] : ['--preserve-credentials'];
    return [tools.nsenter, ...files, ...kept, tools.chroot, '/sys', tools.setpriv];
  } finally {
    maker.stdin?.destroy();
    await exited;
  }
}

/** Options of `nsenter` by the namespace's name in `/proc`. */
const OPTIONS = { user: 'user', net: 'net', mnt: 'mount', ipc: 'ipc' } as const;

function openNamespace({ pid }: ChildProcess, name: keyof typeof OPTIONS): number {
  return openSync(`/proc/${pid}/ns/${name}`, 'r');
}

async function readiness(maker: ChildProcess): Promise<void> {
  const ended = once(maker, 'exit').then(() => {
    throw new Error('the namespaces could not be made');
  });
  maker.stdin?.on('error', () => {}); // it ended before it read
  await Promise.race([once(maker.stdout as NodeJS.ReadableStream, 'data'), ended]);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function findTools(): Tools | null {
  if (process.platform !== 'linux') return null;
  const names = ['unshare', 'nsenter', 'mount', 'chroot', 'setpriv'] as const;
  const files = names.map((name) =>
    PROGRAM_FOLDERS.map((folder) => path.join(folder, name)).find((file) => existsSync(file)),
  );
  const tools = Object.fromEntries(names.map((name, at) => [name, files[at]]));
  return files.every((file) => file !== undefined) ? (tools as Tools) : null;
}

/** User ids in use by the confined processes of this process. */
const usersInUse = new Set<number>();
let lastUid = 0;

/**
 * Give a confined process a user id of its own, so that it can neither signal another confined process nor read its
 * memory. Each process of the service starts from a different id.
 * @returns the same confinement if it changes no user; otherwise one whose user is reserved until `releaseUser`
 */
export function withOwnUser(confinement: Confinement): Confinement {
  if (confinement.user === null) return confinement;
  const free = unusedUsers().filter(({ uid }) => !usersInUse.has(uid));
  if (lastUid === 0) lastUid = UIDS.first + (process.pid % (UIDS.last - UIDS.first));
  const user = free.find(({ uid }) => uid > lastUid) ?? free[0] ?? confinement.user;
  lastUid = user.uid;
  usersInUse.add(user.uid);
  return { ...confinement, user };
}

export function releaseUser({ user }: Confinement): void {
  if (user !== null) usersInUse.delete(user.uid);
}

let unused: readonly ServerUser[] | null = null;

/** List the user ids without an account, as of the first call. A process under one of them owns nothing. */
function unusedUsers(): readonly ServerUser[] {
  unused ??= listUnusedUsers();
  return unused;
}

function listUnusedUsers(): ServerUser[] {
  const ids = new Set(accountIds());
  const all = Array.from({ length: UIDS.last - UIDS.first + 1 }, (_, nth) => UIDS.first + nth);
  return all.filter((id) => !ids.has(id)).map((id) => ({ uid: id, gid: id }));
}

function accountIds(): number[] {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8').split('\n');
    return lines.map((line) => Number(line.split(':')[2]));
  } catch {
    return [];
  }
}

/**
 * List the paths to mount, none inside another. Mount a whole `node_modules` instead of single packages, which saves
 * many mounts.
 */
function rootFolders(readable: readonly string[]): string[] {
  const wanted = [process.execPath, ...readable].map((each) =>
    path.resolve(each).replace(/(\/node_modules)\/.*$/, '$1'),
  );
  const all = [...LIBRARIES, ...wanted].filter((each) => existsSync(each)).toSorted();
  const kept: string[] = [];
  for (const each of all) if (!kept.some((folder) => each === folder || each.startsWith(`${folder}/`))) kept.push(each);
  return kept;
}

/**
 * Describe, for operators, how the kernel confines the processes that read documents, or which mechanisms are missing.
 */
export async function describeConfinement(): Promise<{ isComplete: boolean; detail: string }> {
  const { enter, user } = await findConfinement([fileURLToPath(import.meta.url)]);
  const ownUser = user === null ? '' : ', each as a user of its own';
  if (enter !== null) {
    return { isComplete: true, detail: `isolated from the network and from other files${ownUser}` };
  }
  const missing =
    process.platform === 'linux'
      ? 'allow namespaces (unshare, nsenter, mount, chroot and setpriv of util-linux and coreutils; in a container the capability SYS_ADMIN, or user namespaces)'
      : 'this system has no namespaces';
  return {
    isComplete: false,
    detail: `isolated only by the permission model of Node.js${ownUser}; ${missing}`,
  };
}
