import { existsSync, readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type ChildPool, openChildPool } from '../../src/ingest/extract/child-pool.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { makeBombPdf, makeHtml, makePdf } from '../support/sample-files.ts';
import { until } from '../support/until.ts';

const isLinux = process.platform === 'linux';
let pool: ChildPool;

beforeEach(() => {
  pool = openChildPool();
});
afterEach(async () => {
  pool.close();
  await until(async () => childrenOf().length === 0, { what: 'the end of the spare process' });
});

function read(bytes: Buffer, fileName: string, limits: { memoryBytesMax?: number } = {}, children = pool) {
  const file = { open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName };
  return extractDocument({ ...file, limits, children });
}

/** Ids of the child processes of this process; empty on systems other than Linux. */
function childrenOf(): number[] {
  const file = `/proc/${process.pid}/task/${process.pid}/children`;
  return existsSync(file) ? readFileSync(file, 'latin1').trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

test('documents of one or several formats are read one after the other and concurrently', async () => {
  const pdf = await makePdf([{ heading: 'A paper' }]);
  const page = (i: number) => makeHtml(`<p>page ${i}`, '');
  for (let i = 0; i < 3; i++) expect((await read(page(i), 'a.html')).text).toBe(`page ${i}`);
  expect((await read(pdf, 'a.pdf')).text).toBe('A paper');
  const texts = await Promise.all([0, 1, 2, 3].map((i) => (i % 2 ? read(pdf, 'a.pdf') : read(page(i), 'a.html'))));
  expect(texts.map(({ text }) => text)).toEqual(['page 0', 'A paper', 'page 2', 'A paper']);
});

test.skipIf(!isLinux)('the spare process reads the next document, and no process reads two documents', async () => {
  await read(makeHtml('<p>one', ''), 'a.html');
  const [spare] = childrenOf();
  expect(childrenOf()).toHaveLength(1);
  const seenPids = new Set<number>();
  const reading = read(makeHtml(`<p>${'word '.repeat(200_000)}`, ''), 'b.html');
  await until(async () => {
    for (const pid of childrenOf()) seenPids.add(pid);
    return seenPids.size === 2;
  });
  await reading;
  expect(seenPids).toContain(spare);
  expect(childrenOf()).not.toContain(spare);
  expect(childrenOf()).toHaveLength(1);
});

test.skipIf(!isLinux)('a spare process that is not taken ends', async () => {
  const brief = openChildPool({ idleMs: 100 });
  await read(makeHtml('<p>one', ''), 'a.html', {}, brief);
  await until(async () => childrenOf().length === 0);
  expect((await read(makeHtml('<p>two', ''), 'a.html', {}, brief)).text).toBe('two');
  brief.close();
});

test.skipIf(!isLinux)('a document is read although the spare process died', async () => {
  await read(makeHtml('<p>one', ''), 'a.html');
  for (const pid of childrenOf()) process.kill(pid, 'SIGKILL');
  await until(async () => childrenOf().length === 0);
  expect((await read(makeHtml('<p>two', ''), 'a.html')).text).toBe('two');
});

test('a document that is out of memory does not harm the next one', async () => {
  const memoryBytesMax = 192 * 1024 * 1024;
  const bomb = makeBombPdf(400 * 1024 * 1024);
  await expect(read(bomb, 'bomb.pdf', { memoryBytesMax })).rejects.toMatchObject({ category: 'out_of_memory' });
  expect((await read(await makePdf([{ heading: 'fine' }]), 'a.pdf', { memoryBytesMax })).text).toBe('fine');
});

test('a document is read under its own bounds, whatever bounds the spare process was started with', async () => {
  await read(await makePdf([{ heading: 'fine' }]), 'a.pdf');
  const bomb = makeBombPdf(400 * 1024 * 1024);
  await expect(read(bomb, 'bomb.pdf', { memoryBytesMax: 192 * 1024 * 1024 })).rejects.toMatchObject({
    category: 'out_of_memory',
  });
});
