import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import type { BlockDraft } from './blocks.ts';
import type { ChildPool } from './child-pool.ts';
import { ChildLine, type ChildTask } from './child-protocol.ts';
import { Deadline } from './deadline.ts';
import { ExtractError, outOfMemory, tooSlow, wrongSize } from './errors.ts';
import type { ExtractLimits } from './limits.ts';
import type { ReadResult } from './reader.ts';
import { type Child, startChild } from './start-child.ts';

export interface ChildResult extends ReadResult {
  /** Largest resident memory seen; null where the system does not tell (`/proc` is Linux only). */
  readonly peakMemoryBytes: number | null;
}

export type ImageLine = Extract<ChildLine, { type: 'image' }>;
type PartLine = Extract<ChildLine, { type: 'blocks' | 'image' }>;
type LastLine = Exclude<ChildLine, PartLine>;

type RunLimits = Pick<ExtractLimits, 'deadlineMs' | 'imagesMs' | 'memoryBytesMax' | 'outputBytesMax'>;

/** Each picture that a document hands over gives it so much more time. */
const IMAGE_MS = 5_000;
const MEMORY_POLL_MS = 100;
const STDERR_CHARS_MAX = 4096;
/**
 * Reads one document in a process of its own and hands its blocks to `onBlocks` as they come; while that waits, so does
 * the reading, and the deadline.
 *
 * The process has next to no rights (see start-child.ts). It is killed past the deadline, past `memoryBytesMax` (heap limit by V8,
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
    limits: RunLimits;
    signal?: AbortSignal | undefined;
    /** Left out, a process is started for this document. */
    children?: ChildPool | undefined;
    onBlocks: (blocks: BlockDraft[]) => void | Promise<void>;
    /** Where the task asks for pictures: each in base64, in order among the blocks. */
    onImage?: (image: ImageLine) => void | Promise<void>;
  },
): Promise<ChildResult> {
  const { limits, signal, onBlocks, onImage = () => {} } = options;
  signal?.throwIfAborted();
  const child = options.children?.take(limits, task.format) ?? startChild(limits, task.format);
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
  let forImagesMs = limits.imagesMs;
  const take = (line: PartLine) => {
    if (line.type === 'image') {
      const grantMs = Math.min(IMAGE_MS, forImagesMs);
      forImagesMs -= grantMs;
      deadline.extend(grantMs);
    }
    // What is done with the blocks meanwhile is not reading.
    return deadline.pause(Promise.resolve(line.type === 'blocks' ? onBlocks(line.blocks) : onImage(line)));
  };
  const watch = watchMemory(child, limits.memoryBytesMax, kill);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < STDERR_CHARS_MAX) stderr += text.slice(0, STDERR_CHARS_MAX - stderr.length);
  });
  child.stdin.on('error', () => {}); // The child died before it read everything; its exit tells why.
  try {
    const feeding = feed(child, task, source, closed).catch(kill);
    const last = await collect(child.stdout, { ...limits, imagesMax: task.imagesMax }, take).catch((error: unknown) => {
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

/** Writes task and file to the child, never more than a pipe holds ahead, and leaves stdin open as its lifeline. */
async function feed(
  child: Child,
  task: ChildTask,
  source: AsyncIterable<Uint8Array>,
  closed: Promise<unknown>,
): Promise<void> {
  child.stdin.write(`${JSON.stringify(task)}\n`);
  let sent = 0;
  for await (const chunk of source) {
    sent += chunk.length;
    if (sent > task.sizeBytes) break;
    if (child.stdin.destroyed) return;
    if (!child.stdin.write(chunk)) await Promise.race([once(child.stdin, 'drain').catch(() => {}), closed]);
    if (child.exitCode !== null || child.signalCode !== null) return;
  }
  if (sent !== task.sizeBytes) throw wrongSize();
}

/**
 * Lines of the child's stdout, no faster than they are taken. Returns the last line, `done` or `failed`, or null where
 * there is none. Images do not count as text, and are bounded by their number.
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
      throw new ExtractError('too_large', 'the document unpacks to more text than is allowed');
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
