/**
 * Main module of the process that reads one untrusted document. It receives an argument, and the file on stdin, and
 * prints blocks as lines of JSON to stdout. It starts with almost no privileges (see run-child.ts), and drops the rest
 * before reading the file.
 */
import fs from 'node:fs/promises';
import { registerHooks } from 'node:module';
import type { BlockDraft } from './blocks.ts';
import type { ChildArgument, ChildLine, ChildTask } from './child-protocol.ts';
import { loadReader } from './document-readers.ts';
import { ExtractError, isOutOfMemory, outOfMemory } from './errors.ts';
import type { BlockSink, ImageSink, OcrStrategy, PageImage } from './reader.ts';

const BLOCKS_PER_LINE = 256;
const CHARS_PER_LINE = 256 * 1024;
const WARNINGS_MAX = 20;

async function main(): Promise<void> {
  const { preload, ...folders } = JSON.parse(process.argv[2] ?? '') as ChildArgument;
  const input = new TaskInput();
  const preloaded = await loadReader(preload);
  const task = await input.task;
  const read = task.format === preload ? preloaded : await loadReader(task.format);
  dropPrivileges();
  const bytes = await input.file;
  const sink = new PrintingSink(task.textCharsMax);
  const { pagesMax, htmlBytesMax } = task;
  const budget = { bytesLeft: task.unpackedBytesMax, entriesLeft: task.entriesMax };
  const images = task.ocrStrategy === null ? null : new PrintingImages(sink, task.ocrStrategy, task);
  const result = await read(bytes, { sink, images, budget, pagesMax, htmlBytesMax }, { ...task, ...folders });
  await sink.finish();
  await print({ type: 'done', ...result });
}

/** Sink that prints blocks. `flush` waits until the parent has read enough of them. */
class PrintingSink implements BlockSink {
  readonly #charsMax: number;
  #blocks: BlockDraft[] = [];
  #pendingChars = 0;
  #chars = 0;

  constructor(charsMax: number) {
    this.#charsMax = charsMax;
  }

  add(block: BlockDraft): void {
    this.#chars += block.text.length;
    if (this.#chars > this.#charsMax) {
      throw new ExtractError('too_large', `the document holds more than ${this.#charsMax} characters of text`);
    }
    this.#pendingChars += block.text.length;
    this.#blocks.push(block);
  }

  async flush(): Promise<void> {
    if (this.#blocks.length >= BLOCKS_PER_LINE || this.#pendingChars >= CHARS_PER_LINE) await this.finish();
  }

  async finish(): Promise<void> {
    const blocks = this.#blocks;
    this.#blocks = [];
    this.#pendingChars = 0;
    for (let at = 0; at < blocks.length; at += BLOCKS_PER_LINE) {
      await print({ type: 'blocks', blocks: blocks.slice(at, at + BLOCKS_PER_LINE) });
    }
  }
}

/** Sink that prints images after the blocks that precede them. */
class PrintingImages implements ImageSink {
  readonly strategy: OcrStrategy;
  readonly #sink: PrintingSink;
  readonly #bytesMax: number;
  #left: number;

  constructor(sink: PrintingSink, strategy: OcrStrategy, task: Pick<ChildTask, 'imagesMax' | 'imageBytesMax'>) {
    this.#sink = sink;
    this.strategy = strategy;
    this.#left = task.imagesMax;
    this.#bytesMax = task.imageBytesMax;
  }

  async take({ file, ...place }: PageImage): Promise<boolean> {
    if (this.#left <= 0 || file.length > this.#bytesMax) return false;
    this.#left--;
    await this.#sink.finish();
    await print({ type: 'image', ...place, data: Buffer.from(file).toString('base64') });
    return true;
  }
}

/** Remove network access by replacing the JavaScript APIs, since the permission model of Node 24 doesn't cover it. */
function dropPrivileges(): void {
  const refuse = () => {
    throw new Error('this API is not allowed in the process that reads a document');
  };
  // pdf.js reads its CMaps through this API; the permission model limits the paths.
  const getBuiltinModule = (name: string) => (name === 'fs/promises' ? fs : refuse());
  registerHooks({ resolve: refuse, load: refuse });
  Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined, XMLHttpRequest: undefined });
  Object.assign(process, { getBuiltinModule, kill: refuse, binding: refuse, dlopen: refuse });
}

/**
 * Reader of stdin: a line with the task, then the file. Stdin stays open afterwards. If it ends, the parent is gone,
 * and this process exits.
 */
class TaskInput {
  readonly task: Promise<ChildTask>;
  readonly file: Promise<Uint8Array>;
  readonly #resolveTask: (task: ChildTask) => void;
  readonly #resolveFile: (bytes: Uint8Array) => void;
  #line = '';
  #bytes: Uint8Array | null = null;
  #filled = 0;

  constructor() {
    ({ promise: this.task, resolve: this.#resolveTask } = Promise.withResolvers<ChildTask>());
    ({ promise: this.file, resolve: this.#resolveFile } = Promise.withResolvers<Uint8Array>());
    const exitAsOrphan = () => process.exit(3);
    process.stdin
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .on('end', exitAsOrphan)
      .on('error', exitAsOrphan);
  }

  #take(chunk: Buffer): void {
    if (this.#bytes !== null) {
      this.#fill(this.#bytes, chunk);
      return;
    }
    const end = chunk.indexOf(10);
    this.#line += chunk.toString('latin1', 0, end < 0 ? chunk.length : end);
    if (end < 0) return;
    const task = JSON.parse(this.#line) as ChildTask;
    this.#bytes = new Uint8Array(task.sizeBytes);
    this.#resolveTask(task);
    this.#fill(this.#bytes, chunk.subarray(end + 1));
  }

  #fill(bytes: Uint8Array, chunk: Buffer): void {
    if (this.#filled + chunk.length > bytes.length) process.exit(3);
    bytes.set(chunk, this.#filled);
    this.#filled += chunk.length;
    if (this.#filled === bytes.length) this.#resolveFile(bytes);
  }
}

function print(line: ChildLine): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(`${JSON.stringify(line)}\n`, (error) => (error ? reject(error) : resolve()));
  return promise;
}

function failure(error: unknown): ChildLine {
  const fault = isOutOfMemory(String(error)) ? outOfMemory() : error;
  if (fault instanceof ExtractError && fault.category !== 'timeout' && fault.category !== 'upstream_rejected') {
    return { type: 'failed', category: fault.category, message: fault.message };
  }
  if (error instanceof RangeError)
    return { type: 'failed', category: 'corrupt', message: 'the document is nested too deeply' };
  return { type: 'failed', category: 'internal', message: 'the document could not be read' };
}

async function fail(error: unknown): Promise<never> {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  await print(failure(error));
  process.exit(0);
}

/**
 * Redirect the console to stderr, since libraries must not print between the lines of the protocol. pdf.js only warns
 * when it abandons a page, and treats a page that needs too much memory as empty.
 */
function redirectWarnings(): void {
  let count = 0;
  const take = (...parts: unknown[]) => {
    const text = parts.map(String).join(' ');
    if (isOutOfMemory(text)) void fail(outOfMemory());
    if (count++ < WARNINGS_MAX) process.stderr.write(`${text.slice(0, 200)}\n`);
  };
  Object.assign(console, { log: take, info: take, warn: take, error: take, debug: take });
  // For a damaged document, pdf.js also leaves rejected promises. The result depends only on which pages are readable.
  process.on('unhandledRejection', take);
}

redirectWarnings();
await main().catch(fail);
process.exit(0);
