/**
 * Main of the process that reads one untrusted document: argument in, file on stdin, blocks as lines of JSON on
 * stdout. It is started with next to no rights (see run-child.ts) and gives up the rest before it looks at the file.
 */
import fs from 'node:fs/promises';
import { registerHooks } from 'node:module';
import type { BlockDraft } from './blocks.ts';
import type { ChildArgument, ChildLine } from './child-protocol.ts';
import { ExtractError, isOutOfMemory, outOfMemory } from './errors.ts';

const BLOCKS_PER_LINE = 256;
const WARNINGS_MAX = 20;

type Content = { blocks: BlockDraft[]; pages: number | null; emptyPages: number[]; failedPages: number[] };

async function main(): Promise<void> {
  const task = JSON.parse(process.argv[2] ?? '') as ChildArgument;
  const read = await loadReader(task);
  giveUpRights();
  const bytes = await readStdin(task.sizeBytes);
  const content = await read(bytes);
  for (let at = 0; at < content.blocks.length; at += BLOCKS_PER_LINE) {
    await print({ type: 'blocks', blocks: content.blocks.slice(at, at + BLOCKS_PER_LINE) });
  }
  await print({ type: 'done', pages: content.pages, emptyPages: content.emptyPages, failedPages: content.failedPages });
}

async function loadReader(task: ChildArgument): Promise<(bytes: Uint8Array) => Promise<Content>> {
  if (task.format === 'html') {
    const { readHtml } = await import('./read-html.ts');
    return async (bytes) => ({ blocks: readHtml(bytes, task.charset), pages: null, emptyPages: [], failedPages: [] });
  }
  const { preparePdf, readPdf } = await import('./read-pdf.ts');
  await preparePdf();
  return (bytes) => readPdf(bytes, task);
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
  if (fault instanceof ExtractError && fault.category !== 'timeout' && fault.category !== 'unsupported_type') {
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
