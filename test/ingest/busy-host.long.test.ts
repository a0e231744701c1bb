import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openDocumentImages } from '../../src/recognition/document-images.ts';
import { english } from '../recognition/ocr-samples.ts';
import { encodePng } from '../support/encode-image.ts';
import { hwpParagraph, makeHwp } from '../support/hwp-samples.ts';
import { keepLogs } from '../support/logs.ts';
import { makeMail } from '../support/make-mail.ts';
import { docxParagraph, makeDocx } from '../support/office-samples.ts';
import { extract } from '../support/read-document.ts';
import { makeHtml, makePdf, sampleParagraph } from '../support/sample-files.ts';

// Readers have a lower priority, so a busy process on each core leaves them a tenth of it.
let busy: ChildProcess[] = [];
beforeAll(() => {
  busy = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }),
  );
});
afterAll(() => {
  for (const each of busy) each.kill('SIGKILL');
});

test('a host that is busy fails no document: only the processor time of its reading is limited', async () => {
  const words = Array.from({ length: 40 }, (_, index) => sampleParagraph(`w${index}`));
  const files: Record<string, Buffer> = {
    'a.md': Buffer.from(words.join('\n\n')),
    'b.html': makeHtml(`<p>${words.join('<p>')}`),
    'c.pdf': await makePdf([{ heading: 'A', paragraphs: words }]),
    'd.docx': makeDocx(words.map((text) => docxParagraph(text)).join('')),
    'e.eml': makeMail([{ type: 'text/plain', body: words.join('\n\n') }]),
    'f.rtf': Buffer.from(`{\\rtf1 ${words.join('\\par ')}}`),
    'g.hwp': makeHwp([words.flatMap((text) => hwpParagraph(text))]),
    'h.txt': Buffer.from(words.join('\n\n')),
  };
  // Each needs about half a second of work, for which it waits several seconds.
  for (const [name, bytes] of Object.entries(files))
    expect((await extract(bytes, name, { deadlineMs: 3_000 })).text, name).toContain('w39');
});

test('a host that is busy fails no picture, and its recogniser starts', async () => {
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
