import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pLimit from 'p-limit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ExtractError } from '../../src/ingest/extract/errors.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { drawText } from '../support/draw-text.ts';
import { encodeJpeg } from '../support/encode-image.ts';
import { bombs, deceptions, goodFiles, type HostileFile, xmlAttacks } from '../support/hostile-files.ts';
import { MUTATION_NAMES, mutate, mutateXml } from '../support/hostile-mutations.ts';
import { docxParagraph, makeDocx, makeOdf, makeXlsx } from '../support/office-samples.ts';
import { extract } from '../support/read-document.ts';
import { makePdf } from '../support/sample-files.ts';
import { encodeTiff, faxImage, greyImage, makeScanPdf } from '../support/scan-samples.ts';

const MIB = 1024 * 1024;
const SECRET = 'the canary sings in the coal mine';
const SEED = 6;
/** What a document may end in; `internal` would be a fault of ours. */
const ANSWERS = new Set(['unsupported_type', 'encrypted', 'corrupt', 'too_large', 'timeout', 'out_of_memory']);

let folder: string;
let server: Server;
let requests = 0;
let canary: { file: string; url: string };

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  writeFileSync(join(folder, 'canary.txt'), SECRET);
  server = createServer((_, response) => {
    requests++;
    response.end(SECRET);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  canary = { file: join(folder, 'canary.txt'), url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** Every file ends in text or in a typed answer, within its bounds, and reaches nothing. */
async function survive(files: readonly HostileFile[]): Promise<Map<string, number>> {
  const endings = new Map<string, number>();
  const limit = pLimit(2);
  const read = async ({ what, name, bytes }: HostileFile) => {
    const limits = { deadlineMs: 8_000, memoryBytesMax: 512 * MIB };
    const ending = await extractDocument({
      ...{ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName: name, limits },
      pictures: { strategy: 'always', read: async () => 'a picture' },
    }).then(
      ({ text, peakMemoryBytes }) => {
        expect(text, what).not.toContain(SECRET);
        expect(peakMemoryBytes ?? 0, what).toBeLessThanOrEqual(512 * MIB);
        return 'text';
      },
      (error: unknown) => {
        expect(error, what).toBeInstanceOf(ExtractError);
        const { category, message } = error as ExtractError;
        expect(ANSWERS, `${what}: ${message}`).toContain(category);
        expect(message).not.toMatch(/node_modules|\.ts\b|\/tmp|\/home/);
        return category;
      },
    );
    endings.set(ending, (endings.get(ending) ?? 0) + 1);
  };
  await Promise.all(files.map((file) => limit(() => read(file))));
  // The next one is none the worse, and nothing was left behind or reached.
  expect((await extract(makeDocx(docxParagraph('still well')), 'next.docx')).text).toBe('still well');
  expect(childrenOf(process.pid)).toEqual([]);
  expect(requests).toBe(0);
  return endings;
}

/** Linux only: elsewhere it finds none. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'latin1').trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

test('damaged scans and pictures end in text or in an answer', async () => {
  const bitmap = drawText(['FAX'], { letterPx: 12, marginPx: 5 });
  const jpeg = { width: bitmap.width * 8, height: bitmap.height * 8, stream: encodeJpeg(bitmap) };
  const good = {
    'grey.pdf': makeScanPdf([{ images: [greyImage(bitmap)] }, { text: 'words', images: [greyImage(bitmap)] }]),
    'fax.pdf': makeScanPdf([{ images: [faxImage(bitmap)] }]),
    'photo.pdf': makeScanPdf([
      { images: [{ ...jpeg, dict: '/ColorSpace/DeviceGray/BitsPerComponent 8/Filter/DCTDecode' }] },
    ]),
    'fax.tif': encodeTiff([bitmap, bitmap]),
  };
  const other = await makePdf([{ heading: 'One' }]);
  const files = Object.entries(good).flatMap(([name, bytes], index) =>
    MUTATION_NAMES.map((mutation, nth) => {
      const seed = SEED * 2000 + index * 10 + nth;
      return { what: `${name}: ${mutation} (${seed})`, name, bytes: mutate(mutation, bytes, seed, other) };
    }),
  );
  const endings = await survive(files);
  expect(endings.get('text')).toBeGreaterThan(files.length / 4);
}, 120_000);

test('damaged files of every format', async () => {
  const good = Object.entries(await goodFiles());
  const files = good.flatMap(([format, bytes], index) =>
    MUTATION_NAMES.map((mutation, nth) => {
      const [, other] = good[(index + nth + 1) % good.length] as [string, Buffer];
      const seed = SEED * 1000 + index * 10 + nth;
      return {
        what: `${format}: ${mutation} (${seed})`,
        name: `a.${format}`,
        bytes: mutate(mutation, bytes, seed, other),
      };
    }),
  );
  expect(files.length).toBeGreaterThan(100);
  const endings = await survive(files);
  expect(endings.get('corrupt')).toBeGreaterThan(20);
  expect(endings.get('text')).toBeGreaterThan(20);
}, 180_000);

test('damaged parts of office documents', async () => {
  const body =
    docxParagraph('Head', '<w:pStyle w:val="H1"/>') +
    docxParagraph('item', '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>').repeat(5);
  const cells = '<row r="1"><c r="A1" s="1"><v>45000</v></c><c r="B1" t="s"><v>0</v></c></row>';
  const rows =
    '<table:table table:name="S"><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="3"><text:p>x<text:s text:c="5"/></text:p></table:table-cell></table:table-row></table:table>';
  const files = Array.from({ length: 5 }, (_, nth) => SEED * 100 + nth).flatMap((seed) => [
    { what: `docx (${seed})`, name: 'a.docx', bytes: makeDocx(mutateXml(body, seed)) },
    {
      what: `xlsx (${seed})`,
      name: 'a.xlsx',
      bytes: makeXlsx({ S: mutateXml(cells, seed) }, { strings: ['<t>s</t>'] }),
    },
    { what: `ods (${seed})`, name: 'a.ods', bytes: makeOdf('spreadsheet', mutateXml(rows, seed)) },
  ]);
  await survive(files);
}, 120_000);

test('documents of other entities, without end, of a hundred thousand levels', async () => {
  const endings = await survive(xmlAttacks(canary));
  expect(endings.get('corrupt')).toBeGreaterThan(25);
}, 180_000);

test('bombs', async () => {
  const endings = await survive(bombs());
  expect(endings.get('too_large')).toBeGreaterThan(10);
}, 180_000);

test('references, names and types that lie', async () => {
  await survive(await deceptions(canary));
}, 120_000);
