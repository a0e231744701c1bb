/**
 * `npm run eval -- documents`: what the product reads of 200 documents with known text, beside pdftotext and
 * MarkItDown. Libraries of Python write the documents (`make_documents.py`), in a temporary virtual environment with
 * the versions of `requirements.txt`. A tool that is missing is skipped.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { BlockDraft } from '../../../src/ingest/extract/blocks.ts';
import { DEFAULT_EXTRACT_LIMITS } from '../../../src/ingest/extract/limits.ts';
import { readPdf } from '../../../src/ingest/extract/read-pdf.ts';
import { openPython } from '../../support/open-python.ts';
import { extract } from '../../support/read-document.ts';

/** Documents to read at a time. */
const READ_AT_ONCE = 4;
const OUTPUT_BYTES_MAX = 256 * 1024 ** 2;
const TICKS_PER_SECOND = 100;

interface KnownDocument {
  readonly file: string;
  /** Texts that a reader must find, in the order of the document. */
  readonly strings: readonly string[];
  /** Line at the head of each page of a PDF, and their number. */
  readonly repeated?: string;
  readonly pages?: number;
  /** Words that a PDF divides at the end of a line. */
  readonly hyphenated?: readonly string[];
}

/** Text of each document, by file name, and the processor time of all in seconds, by format. */
interface Reading {
  readonly texts: ReadonlyMap<string, string>;
  readonly cpuSeconds: ReadonlyMap<string, number>;
}

export async function evaluateDocuments(): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'eval-documents-'));
  try {
    const python = openPython(directory, scriptPath('requirements.txt'));
    if (python === null) return;
    const made = spawnSync(python, [scriptPath('make_documents.py'), directory], { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`the documents could not be written: ${made.stderr}`);
    const lines = readFileSync(path.join(directory, 'manifest.jsonl'), 'utf8').trim().split('\n');
    const documents = lines.map((line) => JSON.parse(line) as KnownDocument);
    const pdfs = documents.filter(({ file }) => formatOf(file) === 'pdf');
    console.log('reader            format  files  strings  in order  headers kept  hyphens joined  CPU ms per file');
    report('product, no start', pdfs, await readInProcess(directory, pdfs));
    const byPdftotext = readByPdftotext(directory, pdfs);
    if (byPdftotext === null) console.log('pdftotext is not installed: skipped');
    else report('pdftotext', pdfs, byPdftotext);
    report('markitdown', documents, readByMarkItDown(python, directory, documents));
    report('product', documents, await readByProduct(directory, documents));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function scriptPath(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

function formatOf(file: string): string {
  return path.extname(file).slice(1);
}

/** Read documents as a job does, with the child processes that their formats need. */
async function readByProduct(directory: string, documents: readonly KnownDocument[]): Promise<Reading> {
  return readEach(documents, async (file) => (await extract(readFileSync(path.join(directory, file)), file)).text);
}

/** Read PDFs with the same code in this process, without the time that a child process takes to start. */
async function readInProcess(directory: string, documents: readonly KnownDocument[]): Promise<Reading> {
  const { pagesMax, textCharsMax } = DEFAULT_EXTRACT_LIMITS;
  const cmapFolder = fileURLToPath(new URL('../../cmaps/', import.meta.resolve('pdfjs-dist/legacy/build/pdf.mjs')));
  return readEach(documents, async (file) => {
    const texts: string[] = [];
    const add = ({ text }: BlockDraft) => {
      texts.push(text);
    };
    const bytes = Uint8Array.from(readFileSync(path.join(directory, file)));
    const options = { images: null, pagesMax, textCharsMax, cmapFolder, wasmFolder: null };
    await readPdf(bytes, { add, flush: async () => {} }, options);
    return texts.join('\n');
  });
}

async function readEach(
  documents: readonly KnownDocument[],
  read: (file: string) => Promise<string>,
): Promise<Reading> {
  const texts = new Map<string, string>();
  const cpuSeconds = new Map<string, number>();
  const byFormat = Map.groupBy(documents, ({ file }) => formatOf(file));
  for (const [format, own] of byFormat) {
    const began = processSeconds();
    const queue = own.values();
    const reader = async () => {
      for (const { file } of queue) texts.set(file, await read(file));
    };
    await Promise.all(Array.from({ length: READ_AT_ONCE }, reader));
    cpuSeconds.set(format, processSeconds() - began);
  }
  return { texts, cpuSeconds };
}

/** Return the processor time of this process and of its children that have ended, in seconds. Linux only. */
function processSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  // Fields 14 to 17 of proc(5): user and system time of the process, then of its children.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND;
}

function readByPdftotext(directory: string, documents: readonly KnownDocument[]): Reading | null {
  if (spawnSync('pdftotext', ['-v']).error) return null;
  const texts = new Map<string, string>();
  const began = processSeconds();
  for (const { file } of documents) {
    const options = { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX } as const;
    texts.set(file, spawnSync('pdftotext', [path.join(directory, file), '-'], options).stdout);
  }
  return { texts, cpuSeconds: new Map([['pdf', processSeconds() - began]]) };
}

function readByMarkItDown(python: string, directory: string, documents: readonly KnownDocument[]): Reading {
  const files = documents.map(({ file }) => path.join(directory, file));
  const options = { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX } as const;
  const { stdout, stderr, status } = spawnSync(python, [scriptPath('read_markitdown.py'), ...files], options);
  if (status !== 0) throw new Error(`MarkItDown failed: ${stderr}`);
  const texts = new Map<string, string>();
  const cpuSeconds = new Map<string, number>();
  for (const [nth, line] of stdout.trim().split('\n').entries()) {
    const { text, cpu_seconds: seconds } = JSON.parse(line) as { text: string; cpu_seconds: number };
    const file = documents[nth]?.file as string;
    texts.set(file, text);
    cpuSeconds.set(formatOf(file), (cpuSeconds.get(formatOf(file)) ?? 0) + seconds);
  }
  return { texts, cpuSeconds };
}

/** Print the measures of a reader by format, and those of all formats. */
function report(reader: string, documents: readonly KnownDocument[], { texts, cpuSeconds }: Reading): void {
  const byFormat = Map.groupBy(documents, ({ file }) => formatOf(file));
  const rows = byFormat.size > 1 ? [...byFormat, ['all', documents] as const] : [...byFormat];
  for (const [format, own] of rows) {
    const measured = own.map((document) => measure(document, texts.get(document.file) ?? ''));
    const share = (found: keyof Measures, all: keyof Measures) => {
      const total = measured.reduce((sum, each) => sum + each[all], 0);
      return total === 0 ? '-' : (measured.reduce((sum, each) => sum + each[found], 0) / total).toFixed(3);
    };
    const seconds = format === 'all' ? [...cpuSeconds.values()].reduce((a, b) => a + b, 0) : cpuSeconds.get(format);
    console.log(
      `${reader.padEnd(17)} ${format.padEnd(6)} ${String(own.length).padStart(6)}`,
      `${share('found', 'strings').padStart(8)} ${share('ordered', 'pairs').padStart(9)}`,
      `${share('kept', 'repeats').padStart(13)} ${share('joined', 'hyphenated').padStart(15)}`,
      `${(((seconds ?? 0) * 1_000) / own.length).toFixed(0).padStart(16)}`,
    );
  }
}

interface Measures {
  readonly strings: number;
  readonly found: number;
  /** Neighbouring strings that were found, and those of them in the order of the document. */
  readonly pairs: number;
  readonly ordered: number;
  /** Pages whose head repeats that of an earlier page, and repeats that are in the text. */
  readonly repeats: number;
  readonly kept: number;
  readonly hyphenated: number;
  readonly joined: number;
}

function measure({ strings, repeated, pages = 1, hyphenated = [] }: KnownDocument, raw: string): Measures {
  const text = plain(raw);
  const places = strings.map((string) => text.indexOf(plain(string))).filter((place) => place >= 0);
  const ordered = places.filter((place, nth) => nth > 0 && place > (places[nth - 1] as number)).length;
  const heads = repeated === undefined ? 0 : text.split(plain(repeated)).length - 1;
  return {
    strings: strings.length,
    found: places.length,
    pairs: Math.max(0, places.length - 1),
    ordered,
    repeats: pages - 1,
    kept: Math.max(0, heads - 1),
    hyphenated: hyphenated.length,
    joined: hyphenated.filter((words) => text.includes(plain(words))).length,
  };
}

/** Join lines and cells, and remove the escapes of Markdown, so that the words of all readers compare. */
function plain(text: string): string {
  return text
    .normalize('NFC')
    .replace(/[\s|]+/g, ' ')
    .replace(/\\(?=[^\s\w])/g, '')
    .trim();
}
