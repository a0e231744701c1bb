import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { WorkWatch } from '../../platform/process-work.ts';
import type { BlockDraft } from './blocks.ts';
import type { ChildPool } from './child-pool.ts';
import { ChildLine, type ChildTask } from './child-protocol.ts';
import { ExtractError, hostTooBusy, outOfMemory, storeTooSlow, tooSlow, wrongSize } from './errors.ts';
import { type ExtractLimits, HANG_FACTOR } from './limits.ts';
import type { ReadResult } from './reader.ts';
import { type Child, startChild } from './start-child.ts';

export interface ChildResult extends ReadResult {
  /** Peak resident memory; null if the system doesn't report it (`/proc` is Linux only). */
  readonly peakMemoryBytes: number | null;
}

export type ImageLine = Extract<ChildLine, { type: 'image' }>;
type PartLine = Extract<ChildLine, { type: 'blocks' | 'image' }>;
type LastLine = Exclude<ChildLine, PartLine>;

type RunLimits = Pick<ExtractLimits, 'deadlineMs' | 'imagesMs' | 'memoryBytesMax' | 'outputBytesMax'>;

/** Additional processor time per picture of the document. */
const IMAGE_MS = 5_000;
const MEMORY_POLL_MS = 100;
const STDERR_CHARS_MAX = 4096;

/**
 * Read one document in a separate process, and pass its blocks to `onBlocks`. Reading pauses while `onBlocks` is
 * pending.
 *
 * The process has almost no privileges (see start-child.ts). It is killed past its processor time, without progress,
 * past `memoryBytesMax` (heap limit by V8, data limit by the kernel, resident size by polling), past `outputBytesMax`,
 * and when `signal` aborts. It exits by itself when this process dies. It has exited when the promise settles.
 * @param source file of exactly `task.sizeBytes` bytes; its errors are rethrown unchanged
 * @throws ExtractError for errors of the document or the child; the signal's reason when aborted; errors of `onBlocks`
 */
export async function runChild(
  task: ChildTask,
  source: AsyncIterable<Uint8Array>,
  options: {
    limits: RunLimits;
    signal?: AbortSignal | undefined;
    /** Pool of processes; if absent, a process is started for this document. */
    children?: ChildPool | undefined;
    onBlocks: (blocks: BlockDraft[]) => void | Promise<void>;
    /** Called for each picture, in base64, in order among the blocks, if the task asks for pictures. */
    onImage?: (image: ImageLine) => void | Promise<void>;
  },
): Promise<ChildResult> {
  const { limits, signal, onBlocks, onImage = () => {} } = options;
  signal?.throwIfAborted();
  const child = await (options.children?.take(limits, task.format) ?? startChild(limits, task.format));
  // Only the first reason counts. Later errors are consequences of the kill.
  const killed = Promise.withResolvers<void>();
  let fault: { readonly reason: unknown } | null = null;
  const kill = (reason: unknown) => {
    fault ??= { reason };
    child.kill('SIGKILL');
    killed.resolve();
  };
  const closed = exitOf(child, kill);

  const onAbort = () => kill(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  if (signal?.aborted) onAbort(); // aborted while the child was starting
  let isSent = false;
  const hangMs = limits.deadlineMs * HANG_FACTOR;
  const watch = new WorkWatch(child.pid, { cpuMs: limits.deadlineMs, hangMs }, (over) => {
    if (over === 'work') kill(tooSlow(limits.deadlineMs));
    else kill(isSent ? hostTooBusy(hangMs) : storeTooSlow(hangMs));
  });
  let imageExtensionMs = limits.imagesMs;
  const take = (line: PartLine) => {
    if (line.type === 'image') {
      const grantMs = Math.min(IMAGE_MS, imageExtensionMs);
      imageExtensionMs -= grantMs;
      watch.extend(grantMs);
    }
    // The time of the callbacks isn't reading time.
    return watch.pause(Promise.resolve(line.type === 'blocks' ? onBlocks(line.blocks) : onImage(line)));
  };
  const memory = watchMemory(child, limits.memoryBytesMax, kill);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < STDERR_CHARS_MAX) stderr += text.slice(0, STDERR_CHARS_MAX - stderr.length);
  });
  child.stdin.on('error', () => {}); // The child died before reading everything; its exit status is evaluated below.
  try {
    const sending = sendFile(child, task, source, { closed, onSent: () => watch.progressed() }).then(() => {
      isSent = true;
    }, kill);
    const last = await collect(child.stdout, { ...limits, imagesMax: task.imagesMax }, take).catch((error: unknown) => {
      kill(error);
      return null;
    });
    const [code, exitSignal] = await closed;
    // A stalled source must not delay the error of a killed child.
    await Promise.race([sending, killed.promise]);
    throwFault(fault);
    if (last?.type === 'failed') throw new ExtractError(last.category, last.message, stderr);
    if (last?.type !== 'done' || code !== 0) throw toExitError(code, exitSignal, stderr);
    const { type: _, ...result } = last;
    return { ...result, peakMemoryBytes: memory.peak() };
  } finally {
    watch.stop();
    memory.stop();
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
      kill(new ExtractError('internal', 'the process that reads the document could not be signalled', error));
      return [null, null];
    },
  );
}

/**
 * Write task and file to the child with backpressure. Leave stdin open, so that the child notices when this process
 * dies.
 */
async function sendFile(
  child: Child,
  task: ChildTask,
  source: AsyncIterable<Uint8Array>,
  events: { readonly closed: Promise<unknown>; readonly onSent: () => void },
): Promise<void> {
  child.stdin.write(`${JSON.stringify(task)}\n`);
  let sent = 0;
  for await (const chunk of source) {
    sent += chunk.length;
    if (sent > task.sizeBytes) break;
    if (child.stdin.destroyed) return;
    if (!child.stdin.write(chunk)) await Promise.race([once(child.stdin, 'drain').catch(() => {}), events.closed]);
    events.onSent();
    if (child.exitCode !== null || child.signalCode !== null) return;
  }
  if (sent !== task.sizeBytes) throw wrongSize();
}

/**
 * Read the lines of the child's stdout, waiting for `take` after each. Return the last line, `done` or `failed`, or
 * null if there is none. Images don't count as text; their number is limited.
 */
async function collect(
  stdout: Readable,
  bounds: { outputBytesMax: number; imagesMax: number },
  take: (line: PartLine) => Promise<void>,
): Promise<LastLine | null> {
  let last: LastLine | null = null;
  let received = 0;
  let images = 0;
  let pending: Buffer[] = [];
  for await (const chunk of stdout as AsyncIterable<Buffer>) {
    received += chunk.length;
    if (received > bounds.outputBytesMax)
      throw new ExtractError('too_large', 'the document has more text than is allowed; divide it into smaller files');
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      pending.push(chunk.subarray(from, end));
      const bytes = Buffer.concat(pending);
      const line = parseLine(bytes);
      if (line.type === 'image' && ++images <= bounds.imagesMax) received -= bytes.length;
      if (line.type === 'blocks' || line.type === 'image') await take(line);
      else last = line;
      pending = [];
      from = end + 1;
    }
    if (from < chunk.length) pending.push(chunk.subarray(from));
  }
  return last;
}

/** Parse and validate a line, since a child compromised by its document could print anything. */
function parseLine(line: Buffer): ChildLine {
  try {
    return ChildLine.parse(JSON.parse(line.toString('utf8')));
  } catch (error) {
    throw new ExtractError(
      'internal',
      'the process that read the document broke its protocol; the job can be retried',
      error,
    );
  }
}

/** Kill a child whose resident memory ever exceeded the limit. VmHWM is the peak, including between polls. */
function watchMemory(
  child: Child,
  bytesMax: number,
  kill: (reason: unknown) => void,
): { peak(): number | null; stop(): void } {
  let peak: number | null = null;
  const timer = setInterval(async () => {
    // The process may have exited since the last poll, or the system has no /proc.
    const status = await readFile(`/proc/${child.pid}/status`, 'latin1').catch(() => '');
    const kib = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? Number.NaN);
    if (Number.isNaN(kib)) return;
    peak = Math.max(peak ?? 0, kib * 1024);
    if (peak > bytesMax) kill(outOfMemory());
  }, MEMORY_POLL_MS);
  timer.unref();
  return { peak: () => peak, stop: () => clearInterval(timer) };
}

/** Create the error for a child that exited without a final line. */
function toExitError(code: number | null, exitSignal: NodeJS.Signals | null, stderr: string): ExtractError {
  // V8 aborts at the heap or data limit. The kernel kills when the host runs out of memory.
  if (exitSignal === 'SIGABRT' || exitSignal === 'SIGTRAP' || exitSignal === 'SIGILL' || exitSignal === 'SIGKILL') {
    return outOfMemory(stderr);
  }
  if (exitSignal === 'SIGXCPU')
    return new ExtractError('timeout', 'reading the document took too much processor time', stderr);
  return new ExtractError(
    'internal',
    'the process that read the document died',
    `exit ${code ?? exitSignal}: ${stderr}`,
  );
}
