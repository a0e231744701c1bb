import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import pLimit from 'p-limit';
import { expect } from 'vitest';
import { ExtractError } from '../../src/ingest/extract/errors.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { drawText } from '../support/draw-text.ts';
import { encodeJpeg } from '../support/encode-image.ts';
import { type HostileFile, validFiles } from '../support/hostile-files.ts';
import { MUTATION_NAMES, mutate, mutateXml } from '../support/hostile-mutations.ts';
import { docxParagraph, makeDocx, makeOdf, makeXlsx } from '../support/office-samples.ts';
import { SEED } from '../support/random.ts';
import { extract } from '../support/read-document.ts';
import { makePdf } from '../support/sample-files.ts';
import { encodeTiff, faxImage, greyImage, makeScanPdf } from '../support/scan-samples.ts';

const MIB = 1024 * 1024;
const SECRET = 'the canary sings in the coal mine';
/** Expected error categories of a document; `internal` would be an error of the service. */
const EXPECTED_CATEGORIES = new Set([
  'unsupported_type',
  'encrypted',
  'corrupt',
  'too_large',
  'timeout',
  'out_of_memory',
]);

/** Reader of hostile files, with a file and a server that contain a secret that no file may access. */
export class HostileReading {
  readonly canary: { readonly file: string; readonly url: string };
  readonly #folder: string;
  readonly #server: Server;
  /** Processes that other tests of this process have started. */
  readonly #foreign = new Set(childrenOf(process.pid));
  #requests = 0;

  private constructor(folder: string, server: Server) {
    this.#folder = folder;
    this.#server = server;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.canary = { file: join(folder, 'canary.txt'), url };
    server.on('request', (_, response) => {
      this.#requests++;
      response.end(SECRET);
    });
  }

  static async open(): Promise<HostileReading> {
    const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
    writeFileSync(join(folder, 'canary.txt'), SECRET);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new HostileReading(folder, server);
  }

  close(): void {
    this.#server.close();
    rmSync(this.#folder, { recursive: true });
  }

  /**
   * Expects that every file ends with text or an expected error, within its bounds and without access.
   *
   * @returns number of files by outcome
   */
  async survive(files: readonly HostileFile[]): Promise<Map<string, number>> {
    const outcomes = new Map<string, number>();
    const limit = pLimit(2);
    const read = async (file: HostileFile) => {
      const outcome = await outcomeOf(file);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    };
    await Promise.all(files.map((file) => limit(() => read(file))));
    // The next document is read, no process is left, and no request was made.
    expect((await extract(makeDocx(docxParagraph('still well')), 'next.docx')).text).toBe('still well');
    expect(childrenOf(process.pid).filter((pid) => !this.#foreign.has(pid))).toEqual([]);
    expect(this.#requests).toBe(0);
    return outcomes;
  }
}

async function outcomeOf({ what, name, bytes }: HostileFile): Promise<string> {
  const limits = { deadlineMs: 8_000, memoryBytesMax: 512 * MIB };
  try {
    const { text, peakMemoryBytes } = await extractDocument({
      ...{ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName: name, limits },
      pictures: { strategy: 'always', read: async () => ({ text: 'a picture', confidence: null }) },
    });
    expect(text, what).not.toContain(SECRET);
    expect(peakMemoryBytes ?? 0, what).toBeLessThanOrEqual(512 * MIB);
    return 'text';
  } catch (error) {
    if (!(error instanceof ExtractError)) throw new Error(`${what} ended with an internal error`, { cause: error });
    const { category, message } = error;
    expect(EXPECTED_CATEGORIES, `${what}: ${message}`).toContain(category);
    expect(message).not.toMatch(/node_modules|\.ts\b|\/tmp|\/home/);
    return category;
  }
}

/** Ids of the child processes of a process; empty on systems other than Linux. */
function childrenOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'latin1').trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

/** Mutations for file number `nth`: all, or in a sample one per file. */
function damageTo(nth: number, isSample: boolean): readonly string[] {
  return isSample ? [MUTATION_NAMES[nth % MUTATION_NAMES.length] as string] : MUTATION_NAMES;
}

export async function damagedScans(isSample: boolean): Promise<HostileFile[]> {
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
  return Object.entries(good).flatMap(([name, bytes], index) =>
    damageTo(index, isSample).map((mutation, nth) => {
      const seed = SEED * 2000 + index * 10 + nth;
      return { what: `${name}: ${mutation} (${seed})`, name, bytes: mutate(mutation, bytes, seed, other) };
    }),
  );
}

export async function damagedFiles(isSample: boolean): Promise<HostileFile[]> {
  const good = Object.entries(await validFiles());
  return good.flatMap(([format, bytes], index) =>
    damageTo(index, isSample).map((mutation, nth) => {
      const [, other] = good[(index + nth + 1) % good.length] as [string, Buffer];
      const seed = SEED * 1000 + index * 10 + nth;
      const what = `${format}: ${mutation} (${seed})`;
      return { what, name: `a.${format}`, bytes: mutate(mutation, bytes, seed, other) };
    }),
  );
}

/** Documents with a part that was damaged before it was packed, `count` of each of three formats. */
export function damagedParts(count: number): HostileFile[] {
  const body =
    docxParagraph('Head', '<w:pStyle w:val="H1"/>') +
    docxParagraph('item', '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr>').repeat(5);
  const cells = '<row r="1"><c r="A1" s="1"><v>45000</v></c><c r="B1" t="s"><v>0</v></c></row>';
  const rows =
    '<table:table table:name="S"><table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="3"><text:p>x<text:s text:c="5"/></text:p></table:table-cell></table:table-row></table:table>';
  return Array.from({ length: count }, (_, nth) => SEED * 100 + nth).flatMap((seed) => [
    { what: `docx (${seed})`, name: 'a.docx', bytes: makeDocx(mutateXml(body, seed)) },
    {
      what: `xlsx (${seed})`,
      name: 'a.xlsx',
      bytes: makeXlsx({ S: mutateXml(cells, seed) }, { strings: ['<t>s</t>'] }),
    },
    { what: `ods (${seed})`, name: 'a.ods', bytes: makeOdf('spreadsheet', mutateXml(rows, seed)) },
  ]);
}
