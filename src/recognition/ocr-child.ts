/**
 * Main of the process that reads text in untrusted images, one after the other (see ocr-protocol.ts). It is started
 * with next to no rights (see ocr-process.ts). Whatever goes wrong in the recogniser ends it: its memory may be in
 * any state then.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import { gunzipSync } from 'node:zlib';
import type { OcrArgument, OcrLine } from './ocr-protocol.ts';

/** What is used of Tesseract's C++ API, as tesseract.js-core binds it. */
interface Recogniser {
  /** @returns 0, or -1 where a language could not be loaded */
  Init(dataPath: null, languages: string, engineMode: number): number;
  SetVariable(name: string, value: string): boolean;
  /** Reads `/input`. @returns 1 where it cannot be decoded */
  SetImageFile(exifOrientation: number, angle: number): number;
  /** @returns 0, or -1 */
  Recognize(monitor: null): number;
  GetJSONText(): string;
}

interface Core {
  readonly FS: { writeFile(path: string, data: Uint8Array): void; unlink(path: string): void };
  readonly TessBaseAPI: new () => Recogniser;
}

interface Line {
  readonly text: string;
  /** Percent. */
  readonly confidence: number;
}

/** Tesseract's page segmentation modes: a page with a layout, and words scattered anywhere. */
const AUTOMATIC = '3';
const SPARSE = '11';
/** Photographs and textures give lines, too. What tells them from text is confidence (percent), letters, and length. */
const AUTOMATIC_CONFIDENCE_MIN = 60;
const SPARSE_CONFIDENCE_MIN = 70;
const SURE_CONFIDENCE_MIN = 80;
const SURE_SIGNS_MIN = 2;
const UNSURE_SIGNS_MIN = 8;
const LSTM_ONLY = 1;
const HEAD_BYTES = 5;
const NICENESS = 10;

async function main(): Promise<void> {
  const argument = JSON.parse(process.argv[2] ?? '') as OcrArgument;
  beNice();
  const core = await loadCore(argument.cores);
  const recogniser = openRecogniser(core, argument);
  const take = readImages(argument.imageBytesMax);
  await print({ type: 'ready' });
  for (;;) {
    const { image, orientation } = await take();
    core.FS.writeFile('/input', image);
    const text = await recognise(recogniser, orientation);
    core.FS.unlink('/input');
    await print(report(text === null ? null : text.slice(0, argument.textCharsMax)));
  }
}

/** Requests that only wait for an embedding go first. */
function beNice(): void {
  try {
    os.setPriority(NICENESS);
  } catch {
    // Not allowed here; it works all the same.
  }
}

async function loadCore(builds: readonly string[]): Promise<Core> {
  const require = createRequire(import.meta.url);
  const quiet = () => {};
  let fault: unknown;
  for (const build of builds) {
    try {
      const open = require(build) as (options: object) => Promise<Core>;
      return await open({ TesseractProgress: quiet, print: quiet, printErr: quiet });
    } catch (error) {
      fault = error;
    }
  }
  throw new Error('no build of the recogniser runs here', { cause: fault });
}

function openRecogniser(core: Core, { languages }: OcrArgument): Recogniser {
  for (const { code, path } of languages) {
    core.FS.writeFile(`./${code}.traineddata`, gunzipSync(readFileSync(path)));
  }
  const recogniser = new core.TessBaseAPI();
  const codes = languages.map(({ code }) => code).join('+');
  if (recogniser.Init(null, codes, LSTM_ONLY) !== 0) throw new Error(`cannot load the trained data of ${codes}`);
  for (const { code } of languages) core.FS.unlink(`./${code}.traineddata`);
  return recogniser;
}

/**
 * Reads the image as a page, and where that gives nothing to be sure of, as scattered words, which can take long.
 *
 * @returns null where the image cannot be decoded
 */
async function recognise(recogniser: Recogniser, orientation: number): Promise<string | null> {
  const page = look(recogniser, orientation, AUTOMATIC, AUTOMATIC_CONFIDENCE_MIN);
  if (page === null) return null;
  if (page.isSure) return page.text;
  await print({ type: 'draft', text: page.text });
  const scattered = look(recogniser, orientation, SPARSE, SPARSE_CONFIDENCE_MIN);
  return scattered !== null && scattered.weight > page.weight ? scattered.text : page.text;
}

interface Found {
  /** Empty where it is too little to be believed. */
  readonly text: string;
  readonly isSure: boolean;
  /** Letters and digits, each by its confidence. */
  readonly weight: number;
}

function look(recogniser: Recogniser, orientation: number, segmentation: string, confidenceMin: number): Found | null {
  recogniser.SetVariable('tessedit_pageseg_mode', segmentation);
  if (recogniser.SetImageFile(orientation, 0) === 1) return null;
  if (recogniser.Recognize(null) !== 0) return null;
  const lines: string[] = [];
  let signs = 0;
  let weight = 0;
  for (const line of linesOf(recogniser.GetJSONText())) {
    const own = countSigns(line.text);
    if (line.confidence < confidenceMin || own === 0) continue;
    lines.push(line.text.trim());
    signs += own;
    weight += own * line.confidence;
  }
  const isSure = signs >= SURE_SIGNS_MIN && weight / signs >= SURE_CONFIDENCE_MIN;
  return { text: isSure || signs >= UNSURE_SIGNS_MIN ? lines.join('\n') : '', isSure, weight };
}

function countSigns(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}

interface Page {
  readonly blocks: readonly { readonly paragraphs: readonly { readonly lines: readonly Line[] }[] }[] | null;
}

function linesOf(json: string): Line[] {
  const page = JSON.parse(json) as Page;
  return (page.blocks ?? []).flatMap((block) => block.paragraphs).flatMap((paragraph) => paragraph.lines);
}

interface Taken {
  readonly image: Uint8Array;
  readonly orientation: number;
}

/** @returns a function that waits for the next image; stdin's end, or an image too large, ends the process */
function readImages(bytesMax: number): () => Promise<Taken> {
  const input = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  const take = async (length: number): Promise<Buffer> => {
    const parts = [rest];
    let have = rest.length;
    while (have < length) {
      const next = await input.next().catch(() => ({ done: true as const, value: undefined }));
      if (next.done) process.exit(0);
      parts.push(next.value);
      have += next.value.length;
    }
    const all = Buffer.concat(parts);
    rest = all.subarray(length);
    return all.subarray(0, length);
  };
  return async () => {
    const head = await take(HEAD_BYTES);
    const length = head.readUInt32LE(0);
    if (length > bytesMax) process.exit(2);
    return { orientation: head.readUInt8(4), image: await take(length) };
  };
}

function report(text: string | null): OcrLine {
  const { user, system } = process.cpuUsage();
  return { type: 'read', text, residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 };
}

function print(line: OcrLine): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  process.stdout.write(`${JSON.stringify(line)}\n`, (error) => (error ? reject(error) : resolve()));
  return promise;
}

function fail(error: unknown): never {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
}

/** Nothing but our own lines may get to stdout. */
function silenceConsole(): void {
  const drop = () => {};
  Object.assign(console, { log: drop, info: drop, warn: drop, error: drop, debug: drop });
}

process.on('uncaughtException', fail).on('unhandledRejection', fail);
silenceConsole();
await main().catch(fail);
