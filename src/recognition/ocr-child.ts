/**
 * Main module of the process that reads text in untrusted images, one at a time (see ocr-protocol.ts). It starts with
 * almost no rights (see ocr-process.ts). Any fault of the recogniser ends the process, since its memory may then be
 * corrupt.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gunzipSync } from 'node:zlib';
import type { OcrArgument, OcrLine } from './ocr-protocol.ts';

/** Used part of Tesseract's C++ API, as tesseract.js-core binds it. */
interface Recogniser {
  /** Return 0, or -1 if a language couldn't be loaded. */
  Init(dataPath: null, languages: string, engineMode: number): number;
  SetVariable(name: string, value: string): boolean;
  /** Read `/input`. Return 1 if it can't be decoded. */
  SetImageFile(exifOrientation: number, angle: number): number;
  /** Return 0, or -1 on failure. */
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

/**
 * Page segmentation modes of Tesseract: a page with a layout, and sparse text at any position. Photographs and textures
 * also yield lines, but with less confidence (percent) and fewer letters.
 */
const AUTOMATIC: Mode = { segmentation: '3', confidenceMin: 60 };
const SPARSE: Mode = { segmentation: '11', confidenceMin: 70 };
const TURNED_CONFIDENCE_MIN = 35;
const HALF_TURN = 'half';
const SURE_CONFIDENCE_MIN = 80;
const SURE_CHARACTERS_MIN = 2;
const UNSURE_CHARACTERS_MIN = 8;
const LSTM_ONLY = 1;
const HEAD_BYTES = 5;

async function main(): Promise<void> {
  const argument = JSON.parse(process.argv[2] ?? '') as OcrArgument;
  const core = await loadCore(argument.cores);
  const recogniser = openRecogniser(core, argument);
  const nextImage = readImages(argument.imageBytesMax);
  await print({ type: 'ready' });
  for (;;) {
    const { image, orientation } = await nextImage();
    core.FS.writeFile('/input', image);
    const found = await recognise(recogniser, orientation, argument.textCharsMax);
    core.FS.unlink('/input');
    await print(report(found, argument.textCharsMax));
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
  throw new Error('no build of the recogniser runs on this processor', { cause: fault });
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
 * Read the image as a page. If the result is uncertain, also read it turned by 180 degrees, since the recogniser
 * distinguishes lines from columns but not up from down. Then read it as sparse text, which can take a long time.
 * @returns null if the image can't be decoded
 */
async function recognise(
  recogniser: Recogniser,
  orientation: number,
  textCharsMax: number,
): Promise<Recognition | null> {
  const draft = async ({ text, confidence }: Recognition, next: 'turned' | 'sparse') =>
    print({ type: 'draft', text: text.slice(0, textCharsMax), confidence, next });
  const page = recogniseAs(recogniser, orientation, AUTOMATIC);
  if (page === null || page.isSure) return page;
  let best = { ...page, orientation };
  const consider = (found: Recognition | null, as: number) => {
    if (found !== null && found.weight > best.weight) best = { ...found, orientation: as };
    return found?.isSure === true;
  };
  const upsideDown = turned(orientation, HALF_TURN);
  if (page.characters > 0) {
    await draft(best, 'turned');
    if (consider(recogniseAs(recogniser, upsideDown, AUTOMATIC), upsideDown)) return best;
  }
  await draft(best, 'sparse');
  const upright = best.orientation;
  const sparse = recogniseAs(recogniser, upright, SPARSE);
  if (consider(sparse, upright) || sparse === null || !resemblesText(sparse)) return best;
  for (const angle of [HALF_TURN, 'left', 'right'] as const) {
    await draft(best, 'sparse');
    const other = turned(upright, angle);
    if (consider(recogniseAs(recogniser, other, SPARSE), other)) break;
  }
  return best;
}

/** Return true if the letters may be rotated text. Photographs and textures yield fewer and less certain letters. */
function resemblesText({ characters, confidence }: Recognition): boolean {
  return characters >= UNSURE_CHARACTERS_MIN && (confidence ?? 0) >= TURNED_CONFIDENCE_MIN;
}

/**
 * EXIF orientations after a rotation, by the orientation before it, starting at 1 (upright). Mirrored ones have a
 * separate cycle.
 */
const TURNS = { half: [3, 4, 1, 2, 7, 8, 5, 6], left: [8, 7, 6, 5, 2, 1, 4, 3], right: [6, 5, 8, 7, 4, 3, 2, 1] };

function turned(orientation: number, angle: keyof typeof TURNS): number {
  return TURNS[angle][orientation - 1] ?? orientation;
}

interface Recognition {
  /** Text of all certain lines, empty if it has too few characters to be reliable. */
  readonly text: string;
  readonly isSure: boolean;
  /** Sum of the confidences of letters and digits in these lines. */
  readonly weight: number;
  /** Letters and digits of all lines. */
  readonly characters: number;
  /** Mean confidence of all letters and digits, or null. */
  readonly confidence: number | null;
}

/** Page segmentation mode, with the minimum confidence of its lines. */
interface Mode {
  readonly segmentation: string;
  readonly confidenceMin: number;
}

function recogniseAs(recogniser: Recogniser, orientation: number, mode: Mode): Recognition | null {
  recogniser.SetVariable('tessedit_pageseg_mode', mode.segmentation);
  if (recogniser.SetImageFile(orientation, 0) === 1) return null;
  if (recogniser.Recognize(null) !== 0) return null;
  const lines: string[] = [];
  const all = { characters: 0, weight: 0 };
  const certain = { characters: 0, weight: 0 };
  for (const line of linesOf(recogniser.GetJSONText())) {
    const characters = countCharacters(line.text);
    all.characters += characters;
    all.weight += characters * line.confidence;
    if (line.confidence < mode.confidenceMin || characters === 0) continue;
    lines.push(line.text.trim());
    certain.characters += characters;
    certain.weight += characters * line.confidence;
  }
  const isSure =
    certain.characters >= SURE_CHARACTERS_MIN && certain.weight / certain.characters >= SURE_CONFIDENCE_MIN;
  return {
    text: isSure || certain.characters >= UNSURE_CHARACTERS_MIN ? lines.join('\n') : '',
    isSure,
    weight: certain.weight,
    characters: all.characters,
    confidence: all.characters === 0 ? null : all.weight / all.characters,
  };
}

function countCharacters(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}

interface Page {
  readonly blocks: readonly { readonly paragraphs: readonly { readonly lines: readonly Line[] }[] }[] | null;
}

function linesOf(json: string): Line[] {
  const page = JSON.parse(json) as Page;
  return (page.blocks ?? []).flatMap((block) => block.paragraphs).flatMap((paragraph) => paragraph.lines);
}

interface ReceivedImage {
  readonly image: Uint8Array;
  readonly orientation: number;
}

/**
 * Create a function that reads the next image from stdin. The end of stdin, or an oversized image, ends the process.
 */
function readImages(bytesMax: number): () => Promise<ReceivedImage> {
  const input = process.stdin[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  const readBytes = async (length: number): Promise<Buffer> => {
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
    const head = await readBytes(HEAD_BYTES);
    const length = head.readUInt32LE(0);
    if (length > bytesMax) process.exit(2);
    return { orientation: head.readUInt8(4), image: await readBytes(length) };
  };
}

function report(found: Recognition | null, textCharsMax: number): OcrLine {
  const { user, system } = process.cpuUsage();
  const text = found?.text.slice(0, textCharsMax) ?? null;
  const used = { residentBytes: process.memoryUsage.rss(), cpuSeconds: (user + system) / 1e6 };
  return { type: 'read', text, confidence: found?.confidence ?? null, ...used };
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

/** Disable the console, so that only our own lines are written to stdout. */
function silenceConsole(): void {
  const drop = () => {};
  Object.assign(console, { log: drop, info: drop, warn: drop, error: drop, debug: drop });
}

process.on('uncaughtException', fail).on('unhandledRejection', fail);
silenceConsole();
await main().catch(fail);
