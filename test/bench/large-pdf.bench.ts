/**
 * Benchmark of reading one PDF of many pages, and one of many scanned pages (without the recognition of their text):
 * time, and peak memory of the reading process and of this one. An argument sets the pages, 2,000 by default.
 */
import { Readable } from 'node:stream';
import { extractWindows } from '../../src/ingest/extract/extract-document.ts';
import { makePdf, sampleParagraph } from '../support/sample-files.ts';
import { greyImage, makeScanPdf } from '../support/scan-samples.ts';

const MB = 1e6;
const PAGES = Number(process.argv[2] ?? 2_000);
const SCANNED_PAGES = Math.ceil(PAGES / 20);
const PARAGRAPHS = 10;
/** A4 at 300 dots per inch. */
const SCAN = { width: 2_480, height: 3_508 };

async function measure(label: string, pdf: Buffer): Promise<void> {
  const began = performance.now();
  let images = 0;
  const read = async () => {
    images++;
    return { text: 'text of a scanned page', confidence: null };
  };
  const file = { open: () => Readable.from([pdf]), sizeBytes: pdf.length, fileName: 'large.pdf' };
  let windows = 0;
  const summary = await extractWindows({ ...file, pictures: { strategy: 'auto', read } }, async () => {
    windows++;
  });
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `large-pdf ${label} of ${summary.pages} pages, ${(pdf.length / MB).toFixed(1)} MB: ${seconds.toFixed(1)} s, ` +
      `${windows} windows, ${images} pictures, ${summary.failedPages.length} failed; ` +
      `at most ${((summary.peakMemoryBytes ?? 0) / MB).toFixed(0)} MB in the reading process, ` +
      `${((process.resourceUsage().maxRSS * 1024) / MB).toFixed(0)} MB in this one`,
  );
}

const pages = Array.from({ length: PAGES }, (_, page) => ({
  heading: `Part ${page + 1}`,
  paragraphs: Array.from({ length: PARAGRAPHS }, (_, i) => sampleParagraph(`item ${page}.${i}`)),
}));
await measure('text', await makePdf(pages));

const pixels = new Uint8Array(SCAN.width * SCAN.height).fill(255);
for (let i = 0; i < pixels.length; i += 97) pixels[i] = (i * 31) & 255;
const image = greyImage({ ...SCAN, pixels });
// Each page has its own copy of the image, so that none comes from a cache.
await measure('scan', makeScanPdf(Array.from({ length: SCANNED_PAGES }, () => ({ images: [{ ...image }] }))));
