/**
 * Main of the process that reads one untrusted document: argument in, file on stdin, blocks as lines of JSON on
 * stdout. It is started with next to no rights (see run-child.ts) and gives up the rest before it looks at the file.
 */
import fs from 'node:fs/promises';
import { registerHooks } from 'node:module';
import type { BlockDraft } from './blocks.ts';
import type { ChildArgument, ChildLine } from './child-protocol.ts';
import { loadReader } from './document-readers.ts';
import { ExtractError, isOutOfMemory, outOfMemory } from './errors.ts';
import type { BlockSink } from './reader.ts';

const BLOCKS_PER_LINE = 256;
const CHARS_PER_LINE = 256 * 1024;
const WARNINGS_MAX = 20;

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '') as ChildArgument;
  const read = await loadReader(task.format);
  giveUpRights();
  const bytes = await readStdin(task.sizeBytes);
  const sink = new PrintingSink(task.textCharsMax);
  const { pagesMax, htmlBytesMax } = task;
  const budget = { bytesLeft: task.unpackedBytesMax, entriesLeft: task.entriesMax };
  const result = await read(bytes, { sink, budget, pagesMax, htmlBytesMax }, task);
  await sink.finish();
  await print({ type: 'done', ...result });
}

/** Prints blocks as they come, no faster than they are taken. */
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

/** Node 24 has no permission for the network, so the ways to it that JavaScript has are closed by hand. */
function giveUpRights(): void {
  const refuse = () => {
    throw new Error('not allowed here');
  };
  // pdf.js reads its CMaps by this; what it may read is the permission's business.
  const getBuiltinModule = (name: string) => (name === 'fs/promises' ? fs : refuse());
  registerHooks({ resolve: refuse, load: refuse });
  Object.assign(globalThis, { fetch: refuse, WebSocket: undefined, EventSource: undefined, XMLHttpRequest: undefined });
  Object.assign(process, { getBuiltinModule, kill: refuse, binding: refuse, dlopen: refuse });
}

/** Exactly `sizeBytes` bytes. After them stdin is a lifeline: when the parent is gone, it ends and so do we. */
function readStdin(sizeBytes: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(sizeBytes);
  let filled = 0;
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const orphaned = () => process.exit(3);
  process.stdin.on('data', (chunk: Buffer) => {
    if (filled + chunk.length > sizeBytes) return orphaned();
    bytes.set(chunk, filled);
    filled += chunk.length;
    if (filled === sizeBytes) resolve(bytes);
  });
  process.stdin.on('end', orphaned).on('error', orphaned);
  return promise;
}

function print(line: ChildLine): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(`${JSON.stringify(line)}\n`, (error) => (error ? reject(error) : resolve()));
  return promise;
}

function failure(error: unknown): ChildLine {
  const fault = isOutOfMemory(String(error)) ? outOfMemory() : error;
  if (fault instanceof ExtractError && fault.category !== 'timeout') {
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
 * Libraries must not print between our lines. pdf.js only warns when it gives up on a page, and gives up on one that
 * takes too much memory as if it were empty.
 */
function takeWarnings(): void {
  let count = 0;
  const take = (...parts: unknown[]) => {
    const text = parts.map(String).join(' ');
    if (isOutOfMemory(text)) void fail(outOfMemory());
    if (count++ < WARNINGS_MAX) process.stderr.write(`${text.slice(0, 200)}\n`);
  };
  Object.assign(console, { log: take, info: take, warn: take, error: take, debug: take });
  // It also leaves promises behind when a document breaks; what counts is whether the pages can be read.
  process.on('unhandledRejection', take);
}

takeWarnings();
await main().catch(fail);
process.exit(0);
