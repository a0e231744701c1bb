import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDocumentImages } from '../../src/recognition/document-images.ts';
import { english } from '../recognition/ocr-samples.ts';
import { encodePng } from '../support/encode-image.ts';
import { hwpParagraph, makeHwp } from '../support/hwp-samples.ts';
import { keepLogs } from '../support/logs.ts';
import { docxParagraph, makeDocx } from '../support/office-samples.ts';
import { extract } from '../support/read-document.ts';
import { makePdf, sampleParagraph } from '../support/sample-files.ts';

// Readers have a lower priority, so two busy processes on each core leave them a twentieth of it.
const TIMEOUT_MS = 600_000;

let busy: ChildProcess[] = [];
beforeAll(() => {
  busy = Array.from({ length: 2 * availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
});
afterAll(() => {
  for (const each of busy) each.kill('SIGKILL');
});

test('a host that is busy fails no document: only the processor time of its reading is limited', {
  timeout: TIMEOUT_MS,
}, async () => {
  const words = Array.from({ length: 40 }, (_, index) => sampleParagraph(`w${index}`));
  const files: Record<string, Buffer> = {
    'a.md': Buffer.from(words.join('\n\n')),
    'c.pdf': await makePdf([{ heading: 'A', paragraphs: words }]),
    'd.docx': makeDocx(words.map((text) => docxParagraph(text)).join('')),
    'g.hwp': makeHwp([words.flatMap((text) => hwpParagraph(text))]),
  };
  // Each needs half a second of work, and up to three where other machines share the cores. It waits for longer than the
  // deadline.
  for (const [name, bytes] of Object.entries(files))
    expect((await extract(bytes, name, { deadlineMs: 8_000 })).text, name).toContain('w39');
});

test('a host that is busy fails no picture, and its recogniser starts', { timeout: TIMEOUT_MS }, async () => {
  const images = openDocumentImages({
    vision: null,
    logger: keepLogs().logger,
    ocr: { imageMs: 20_000, startMs: 20_000 },
  });
  try {
    const { text, workMs = 0 } = await images.read(Uint8Array.from(encodePng(english)), new AbortController().signal);
    expect(text).toContain('HELLO WORLD');
    expect(workMs).toBeGreaterThan(0);
  } finally {
    await images.close();
  }
});
