import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { BlockDraft } from './blocks.ts';
import { type ChildArgument, ChildLine, type ChildTask } from './child-protocol.ts';
import { Deadline } from './deadline.ts';
import { ExtractError, outOfMemory, tooSlow, wrongSize } from './errors.ts';
import type { ExtractLimits } from './limits.ts';
import type { ReadResult } from './reader.ts';

export interface ChildResult extends ReadResult {
  /** Largest resident memory seen; null where the system does not tell (`/proc` is Linux only). */
  readonly peakMemoryBytes: number | null;
}

type ChildLimits = Pick<ExtractLimits, 'deadlineMs' | 'memoryBytesMax' | 'outputBytesMax'>;
type Child = ChildProcessByStdio<Writable, Readable, Readable>;

const MIB = 1024 * 1024;
const MEMORY_POLL_MS = 100;
const STDERR_CHARS_MAX = 4096;
/** Address space that V8 reserves for compiled code; it counts against the data limit and is hardly used. */
const CODE_RANGE_BYTES = 512 * MIB;
/** Of the memory allowed, what is not for the JavaScript heap: the program itself and array buffers. */
const OFF_HEAP_BYTES = 128 * MIB;

/**
 * Reads one document in a process of its own and hands its blocks to `onBlocks` as they come; while that waits, so does
 * the reading, and the deadline.
 *
 * The process may read its own code and nothing else, write no file, start no process, load no addon, make no code
 * from strings, and has an empty environment. It is killed past the deadline, past `memoryBytesMax` (heap limit by V8,
 * data limit by the kernel, resident size by a watch), past `outputBytesMax`, and when `signal` aborts; it ends by
 * itself when this process dies. When the promise settles, it is gone.
 *
 * @param source the file, of exactly `task.sizeBytes` bytes; its own errors are passed on as they are
 * @throws ExtractError for what is wrong with the document or the child; the signal's reason when aborted; whatever
 *   `onBlocks` throws
 */
export async function runChild(
  task: ChildTask,
  source: AsyncIterable<Uint8Array>,
  options: {
    limits: ChildLimits;
    signal?: AbortSignal | undefined;
    onBlocks: (blocks: BlockDraft[]) => void | Promise<void>;
  },
): Promise<ChildResult> {
  const { limits, signal, onBlocks } = options;
  signal?.throwIfAborted();
  const child = start(task, limits);
  // The first reason wins: what follows from a kill is not news.
  const doom = Promise.withResolvers<void>();
  let fault: { readonly reason: unknown } | null = null;
  const kill = (reason: unknown) => {
    fault ??= { reason };
    child.kill('SIGKILL');
    doom.resolve();
  };
  const closed = exitOf(child, kill);

  const onAbort = () => kill(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const deadline = new Deadline(limits.deadlineMs, () => kill(tooSlow(limits.deadlineMs)));
  // What is done with the blocks meanwhile is not reading.
  const take = (blocks: BlockDraft[]) => deadline.pause(Promise.resolve(onBlocks(blocks)));
  const watch = watchMemory(child, limits.memoryBytesMax, kill);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < STDERR_CHARS_MAX) stderr += text.slice(0, STDERR_CHARS_MAX - stderr.length);
  });
  child.stdin.on('error', () => {}); // The child died before it read everything; its exit tells why.
  try {
    const feeding = feed(child, source, task.sizeBytes, closed).catch(kill);
    const last = await collect(child.stdout, limits.outputBytesMax, take).catch((error: unknown) => {
      kill(error);
      return null;
    });
    const [code, exitSignal] = await closed;
    // A source that stalls must not hold up the news that the child was killed.
    await Promise.race([feeding, doom.promise]);
    throwFault(fault);
    if (last?.type === 'failed') throw new ExtractError(last.category, last.message, stderr);
    if (last?.type !== 'done' || code !== 0) throw deathOf(code, exitSignal, stderr);
    const { type: _, ...result } = last;
    return { ...result, peakMemoryBytes: watch.peak() };
  } finally {
    deadline.stop();
    watch.stop();
    signal?.removeEventListener('abort', onAbort);
  }
}

function throwFault(fault: { readonly reason: unknown } | null): void {
  if (fault !== null) throw fault.reason;
}

type Exit = [code: number | null, signal: NodeJS.Signals | null];

function exitOf(child: Child, kill: (reason: unknown) => void): Promise<Exit> {
  return once(child, 'close').then(
    (exit) => exit as Exit,
    (error: unknown): Exit => {
      kill(new ExtractError('internal', 'the reader of the document could not be started', error));
      return [null, null];
    },
  );
}

function start(task: ChildTask, limits: ChildLimits): Child {
  const heapMib = Math.max(32, Math.floor((limits.memoryBytesMax - OFF_HEAP_BYTES) / MIB));
  const { paths, cmapFolder } = readable();
  const argument: ChildArgument = { ...task, cmapFolder };
  const node = [
    process.execPath,
    '--permission',
    ...paths.map((path) => `--allow-fs-read=${path}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${heapMib}`,
    '--v8-pool-size=1',
    '--no-warnings',
    fileURLToPath(new URL('./child.ts', import.meta.url)),
    JSON.stringify(argument),
  ];
  // CPU seconds end a busy child whose parent was killed and can watch no more.
  const cpuSeconds = Math.ceil(limits.deadlineMs / 1000) * 2 + 5;
  const dataKib = Math.ceil((limits.memoryBytesMax + CODE_RANGE_BYTES) / 1024);
  const script = 'ulimit -c 0; ulimit -f 0; ulimit -t "$1"; ulimit -d "$2"; shift 2; exec "$@" 2>&3 3>&-';
  const [command, ...args] =
    process.platform === 'win32'
      ? node
      : ['/bin/sh', '-c', `{ ${script}; } 3>&2 2>/dev/null`, 'extract', String(cpuSeconds), String(dataKib), ...node];
  return spawn(command as string, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
    // Its own process group: a Ctrl-C at the terminal is for the worker, which may finish this document.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
}

interface Readables {
  readonly paths: string[];
  readonly cmapFolder: string | null;
}

let readables: Readables | null = null;

/** Packages that the readers import. */
const READER_PACKAGES = ['chardet', 'markdown-it', 'numfmt', 'parse5', 'postal-mime', 'saxes', 'unpdf', 'yauzl'];

/** The child's own code: this folder and the packages of the readers, not the rest of the installation. */
function readable(): Readables {
  if (readables !== null) return readables;
  const here = dirname(fileURLToPath(import.meta.url));
  const packages = new Set<string>();
  for (const name of READER_PACKAGES) addPackage(name, import.meta.url, packages);
  const pdfjs = packageFolder('pdfjs-dist', import.meta.url);
  const cmapFolder = pdfjs === null ? null : join(pdfjs, 'cmaps/');
  const paths = [here, join(here, '../../../package.json'), ...packages];
  if (cmapFolder !== null) paths.push(cmapFolder);
  readables = { paths, cmapFolder };
  return readables;
}

/** A package and all that it depends on. */
function addPackage(name: string, base: string, folders: Set<string>): void {
  const folder = requiredPackage(name, base);
  if (folders.has(folder)) return;
  folders.add(folder);
  const manifest = join(folder, 'package.json');
  const { dependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8')) as { dependencies?: Record<string, string> };
  for (const dependency of Object.keys(dependencies)) addPackage(dependency, pathToFileURL(manifest).href, folders);
}

function requiredPackage(name: string, base: string): string {
  const folder = packageFolder(name, base);
  if (folder === null) throw new ExtractError('internal', `the package ${name} is not installed`);
  return folder;
}

function packageFolder(name: string, base: string): string | null {
  try {
    const path = findPackageJSON(name, base);
    return path === undefined ? null : dirname(path);
  } catch {
    return null;
  }
}

/** Writes the file to the child, never more than a pipe holds ahead, and leaves stdin open as its lifeline. */
async function feed(
  child: Child,
  source: AsyncIterable<Uint8Array>,
  sizeBytes: number,
  closed: Promise<unknown>,
): Promise<void> {
  let sent = 0;
  for await (const chunk of source) {
    sent += chunk.length;
    if (sent > sizeBytes) break;
    if (child.stdin.destroyed) return;
    if (!child.stdin.write(chunk)) await Promise.race([once(child.stdin, 'drain').catch(() => {}), closed]);
    if (child.exitCode !== null || child.signalCode !== null) return;
  }
  if (sent !== sizeBytes) throw wrongSize();
}

/** Lines of the child's stdout, no faster than their blocks are taken. Returns the last line, `done` or `failed`, or null where there is none. */
async function collect(
  stdout: Readable,
  outputBytesMax: number,
  take: (blocks: BlockDraft[]) => Promise<void>,
): Promise<Exclude<ChildLine, { type: 'blocks' }> | null> {
  let last: Exclude<ChildLine, { type: 'blocks' }> | null = null;
  let received = 0;
  let pending: Buffer[] = [];
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received > outputBytesMax)
      throw new ExtractError('too_large', 'the document unpacks to more text than is allowed');
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      pending.push(chunk.subarray(from, end));
      const line = parseLine(Buffer.concat(pending));
      if (line.type === 'blocks') await take(line.blocks);
      else last = line;
      pending = [];
      from = end + 1;
    }
    if (from < chunk.length) pending.push(chunk.subarray(from));
  }
  return last;
}

/** A child that was taken over by its document could print anything. */
function parseLine(line: Buffer): ChildLine {
  try {
    return ChildLine.parse(JSON.parse(line.toString('utf8')));
  } catch (error) {
    throw new ExtractError('internal', 'the reader of the document did not keep to its protocol', error);
  }
}

/** Kills a child whose resident memory, at any moment, was above the bound (VmHWM holds the peak between two looks). */
function watchMemory(
  child: Child,
  bytesMax: number,
  kill: (reason: unknown) => void,
): { peak(): number | null; stop(): void } {
  let peak: number | null = null;
  const timer = setInterval(async () => {
    // Gone between two looks, or a system without /proc.
    const status = await readFile(`/proc/${child.pid}/status`, 'latin1').catch(() => '');
    const kib = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN);
    if (Number.isNaN(kib)) return;
    peak = Math.max(peak ?? 0, kib * 1024);
    if (peak > bytesMax) kill(outOfMemory());
  }, MEMORY_POLL_MS);
  timer.unref();
  return { peak: () => peak, stop: () => clearInterval(timer) };
}

/** What an end without a last line means. */
function deathOf(code: number | null, exitSignal: NodeJS.Signals | null, stderr: string): ExtractError {
  // V8 aborts when the heap or the data limit is reached; the kernel kills when the host runs out of memory.
  if (exitSignal === 'SIGABRT' || exitSignal === 'SIGTRAP' || exitSignal === 'SIGILL' || exitSignal === 'SIGKILL') {
    return outOfMemory(stderr);
  }
  if (exitSignal === 'SIGXCPU')
    return new ExtractError('timeout', 'reading the document took too much processor time', stderr);
  return new ExtractError('internal', 'the reader of the document died', `exit ${code ?? exitSignal}: ${stderr}`);
}
