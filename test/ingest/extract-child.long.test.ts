import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import type { ExtractLimits } from '../../src/ingest/extract/limits.ts';
import { runChild } from '../../src/ingest/extract/run-child.ts';
import { makeBombPdf, makeHtml, makeNestedFormsPdf, makePdf } from '../support/sample-files.ts';

const MIB = 1024 * 1024;

function extract(bytes: Buffer, fileName: string, limits: Partial<ExtractLimits> = {}, signal?: AbortSignal) {
  return extractDocument({ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName, limits, signal });
}

/** Checks after each test that no child process is left, and that the next document is read. */
afterEach(async () => {
  expect(childrenOf(process.pid)).toEqual([]);
  expect((await extract(makeHtml('<p>still well'), 'next.html')).text).toContain('still well');
});

test('a decompression bomb exceeds only the memory limit of its own process', async () => {
  const bomb = makeBombPdf(400 * MIB);
  expect(bomb.length).toBeLessThan(100_000);
  await expect(extract(bomb, 'bomb.pdf', { memoryBytesMax: 192 * MIB })).rejects.toMatchObject({
    category: 'out_of_memory',
    retryable: false,
  });
});

test('an HTML page whose tree exceeds the memory limit ends as out_of_memory', async () => {
  const page = Buffer.from(`<!doctype html>${'<p><b>x</b>'.repeat(400_000)}`);
  const limits = { memoryBytesMax: 192 * MIB };
  await expect(extract(page, 'big.html', limits)).rejects.toMatchObject({ category: 'out_of_memory' });
});

test('a document that keeps its reader busy for ever is killed at the deadline', async () => {
  const hang = extract(makeNestedFormsPdf(60), 'hang.pdf', { deadlineMs: 1000 });
  await expect(hang).rejects.toMatchObject({
    category: 'timeout',
    retryable: false,
    message: 'reading the document takes more than 1 s of processor time',
  });
});

test('an abort kills the reader and rejects with the reason of the signal', async () => {
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const bytes = makeNestedFormsPdf(60);
  // When more is requested from the source, the child is running and has received the whole file.
  async function* source() {
    yield bytes;
    expect(process.platform !== 'linux' || childrenOf(process.pid).length === 1).toBe(true);
    controller.abort(reason);
  }
  const bounds = {
    pagesMax: 10,
    textCharsMax: 1e9,
    htmlBytesMax: 1e9,
    unpackedBytesMax: 1e9,
    entriesMax: 10,
    imagesMax: 0,
    imageBytesMax: 0,
  };
  const task = { format: 'pdf', sizeBytes: bytes.length, charset: null, ocrStrategy: null, ...bounds } as const;
  const limits = { deadlineMs: 60_000, memoryBytesMax: 512 * MIB, outputBytesMax: MIB, imagesMs: 0 };
  const reading = runChild(task, source(), { limits, signal: controller.signal, onBlocks: () => {} });
  await expect(reading).rejects.toBe(reason);
  await expect(extract(bytes, 'hang.pdf', {}, controller.signal)).rejects.toBe(reason);
});

test('a document with more text, pages or bytes than allowed ends as too_large', async () => {
  const page = makeHtml(`<p>${'many words '.repeat(10_000)}`);
  const pdf = await makePdf([{ heading: 'one' }, { heading: 'two' }]);
  for (const [bytes, name, limits] of [
    [page, 'a.html', { outputBytesMax: 10_000 }],
    [page, 'a.html', { textCharsMax: 10_000 }],
    [page, 'a.html', { htmlBytesMax: 10_000 }],
    [pdf, 'a.pdf', { pagesMax: 1 }],
    [pdf, 'a.pdf', { textCharsMax: 3 }],
    [pdf, 'a.pdf', { pdfBytesMax: 100 }],
  ] as const) {
    await expect(extract(bytes, name, limits), JSON.stringify(limits)).rejects.toMatchObject({ category: 'too_large' });
  }
});

test('a file that is shorter or longer than recorded ends as an internal error', async () => {
  const bytes = makeHtml('<p>words');
  for (const sizeBytes of [bytes.length - 1, bytes.length + 1]) {
    const file = { open: () => Readable.from([bytes]), sizeBytes, fileName: 'a.html' };
    await expect(extractDocument(file)).rejects.toMatchObject({ category: 'internal', retryable: true });
  }
});

test('an error of the store is rethrown unchanged', async () => {
  const fault = new Error('disk on fire');
  async function* broken() {
    yield makeHtml('<p>words');
    throw fault;
  }
  const file = { open: () => Readable.from(broken()), sizeBytes: 100_000, fileName: 'a.html' };
  await expect(extractDocument(file)).rejects.toBe(fault);
});

test('documents that are read concurrently do not mix', async () => {
  const pages = Array.from({ length: 6 }, (_, i) => makeHtml(`<p>page ${i} ${'word '.repeat(5000 * i)}`, ''));
  const documents = await Promise.all(pages.map((page, i) => extract(page, `${i}.html`)));
  documents.forEach(({ text }, i) => {
    expect(text).toMatch(new RegExp(`^page ${i}( word)*$`));
  });
});

test.skipIf(process.platform !== 'linux')('a reader ends when the process that started it is killed', async () => {
  const module = new URL('../../src/ingest/extract/run-child.ts', import.meta.url).href;
  const limits = '{ deadlineMs: 60000, memoryBytesMax: 512 * 1024 * 1024, outputBytesMax: 1000, imagesMs: 0 }';
  const task = "{ format: 'html', sizeBytes: 10, charset: null, pagesMax: 1, textCharsMax: 1 }";
  // The file never arrives, so the child waits for it.
  const source = '(async function* () { await new Promise(() => {}); })()';
  const script = `import { runChild } from ${JSON.stringify(module)};
    runChild(${task}, ${source}, { limits: ${limits}, onBlocks() {} });
    console.log('started');
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(parent.stdout, 'data');
  const [child = 0] = childrenOf(parent.pid as number);
  expect(isRunning(child)).toBe(true);
  parent.kill('SIGKILL');
  for (let poll = 0; poll < 200 && isRunning(child); poll++) await delay(50);
  expect(isRunning(child)).toBe(false);
});

/** Ids of the child processes of a process; empty on systems other than Linux. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'latin1').trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

/** Returns true if a process runs; a zombie process has ended. */
function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}
