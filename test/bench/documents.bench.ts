/**
 * Benchmark of reading small documents that have their own parser, with and without a spare process, for documents that
 * arrive one by one and for documents without a pause between.
 */
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { type ChildPool, openChildPool } from '../../src/ingest/extract/child-pool.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { makeHtml, makePdf, sampleParagraph } from '../support/sample-files.ts';

const DOCUMENTS = 20;
/** Pause longer than the start of a process. */
const PAUSE_MS = 700;

const html = makeHtml(Array.from({ length: 20 }, (_, i) => `<p>${sampleParagraph(`item ${i}`)}`).join(''));
const pages = [1, 2, 3].map((page) => ({ heading: `Part ${page}`, paragraphs: [sampleParagraph('rotor')] }));
const files = { 'page.html': html, 'paper.pdf': await makePdf(pages) };

async function read(fileName: string, bytes: Buffer, children: ChildPool | null): Promise<number> {
  const began = performance.now();
  const file = { open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName };
  await extractDocument({ ...file, ...(children === null ? {} : { children }) });
  return performance.now() - began;
}

async function median(fileName: string, bytes: Buffer, children: ChildPool | null, pauseMs: number): Promise<number> {
  await read(fileName, bytes, children);
  const times: number[] = [];
  for (let i = 0; i < DOCUMENTS; i++) {
    await setTimeout(pauseMs);
    times.push(await read(fileName, bytes, children));
  }
  times.sort((a, b) => a - b);
  return times[DOCUMENTS >> 1] as number;
}

for (const [fileName, bytes] of Object.entries(files)) {
  for (const [label, pauseMs] of [
    ['one by one', PAUSE_MS],
    ['without a pause', 0],
  ] as const) {
    const alone = await median(fileName, bytes, null, pauseMs);
    const pool = openChildPool();
    const withSpare = await median(fileName, bytes, pool, pauseMs);
    pool.close();
    console.log(
      `documents ${fileName} ${label}: median ${alone.toFixed(0)} ms, with a spare process ${withSpare.toFixed(0)} ms`,
    );
  }
}
