import type { Readable } from 'node:stream';
import type { Block, BlockDraft, TextWindow } from './blocks.ts';
import type { ChildPool } from './child-pool.ts';
import type { ChildTask } from './child-protocol.ts';
import { Deadline } from './deadline.ts';
import { detectFormat, type FileFormat, HEAD_BYTES, isPictureFormat } from './detect-format.ts';
import { ExtractError, hostTooBusy, PicturesDoNotFit, storeTooSlow } from './errors.ts';
import { type ImageReading, ImageTexts, type UnsurePicture } from './image-texts.ts';
import { DEFAULT_EXTRACT_LIMITS, type ExtractLimits, HANG_FACTOR, limitsFor } from './limits.ts';
import { isTextFormat, readInWorker } from './read-in-worker.ts';
import { pagesOfPicture, readPicture } from './read-picture.ts';
import { type ReadResult, resultOf } from './reader.ts';
import { recogniseType } from './recognise-type.ts';
import { type ImageLine, runChild } from './run-child.ts';
import { WINDOW_CHARS, WindowSink } from './window-sink.ts';

export interface StoredFile {
  /** Open the file for reading. Called once. The stream is destroyed if it isn't read to the end. */
  readonly open: () => Readable;
  readonly sizeBytes: number;
  /** File name, as a hint at the text format; never used as a path. */
  readonly fileName: string;
  readonly contentType?: string | null;
}

/** Result of extracting a document, without its text. */
export interface ExtractSummary extends ReadResult {
  /** Pages, from 1, whose text was recognised in pictures. */
  readonly recognisedPages: number[];
  /** Pictures whose text was recognised with low confidence, ordered by page. */
  readonly unsurePictures: readonly UnsurePicture[];
  /** Peak resident memory of the child; null without a child or if the system doesn't report it. */
  readonly peakMemoryBytes: number | null;
}

export interface ExtractedDocument extends ExtractSummary {
  readonly text: string;
  readonly blocks: Block[];
}

export interface ExtractRequest extends StoredFile {
  readonly signal?: AbortSignal | undefined;
  readonly limits?: Partial<ExtractLimits>;
  /** Run a child process once a slot is free. The wait doesn't count against the deadline. */
  readonly withSlot?: <T>(run: () => Promise<T>) => Promise<T>;
  /** Pool to take child processes from; if absent, a new process is started. */
  readonly children?: ChildPool;
  /** Recognition of text in pictures; null to skip it. */
  readonly pictures?: ImageReading | null;
}

/** Extract the entire text in one window; see `extractWindows`. */
export async function extractDocument(file: ExtractRequest): Promise<ExtractedDocument> {
  let whole: TextWindow = { start: 0, text: '', blocks: [] };
  const take = async (window: TextWindow) => {
    whole = window;
  };
  const summary = await extractWindows(file, take, Number.POSITIVE_INFINITY);
  return { ...summary, text: whole.text, blocks: whole.blocks };
}

/**
 * Extract text and blocks of a stored file, and pass them to `take` in windows of about `windowChars`, so that a long
 * document is never in memory as a whole. This process reads plain text, csv and json itself, yielding to the event
 * loop between slices; a child process reads every other format. The time of `take` doesn't count against the deadline.
 * @throws ExtractError with the category to record in the job; the signal's reason when aborted; errors of the stream
 *   and of `take`
 */
export async function extractWindows(
  file: ExtractRequest,
  take: (window: TextWindow) => Promise<void>,
  windowChars: number = WINDOW_CHARS,
): Promise<ExtractSummary> {
  const limits = limitsFor(file.sizeBytes, { ...DEFAULT_EXTRACT_LIMITS, ...file.limits });
  const { signal, sizeBytes, withSlot = (run) => run(), pictures = null } = file;
  signal?.throwIfAborted();
  if (sizeBytes === 0) throw new ExtractError('corrupt', 'the file is empty');
  const stream = file.open();
  stream.on('error', () => {}); // The stream's reader handles errors; there are none once the document is read.
  const onAbort = () => stream.destroy(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  // This deadline covers a stalled store. For a child process, its own limits apply instead.
  const hangMs = limits.deadlineMs * HANG_FACTOR;
  const deadlineError = () => (stream.readableEnded ? hostTooBusy : storeTooSlow)(hangMs);
  const deadline = new Deadline(hangMs, () => stream.destroy(deadlineError()));
  let texts: ImageTexts | null = null;
  try {
    const { head, whole } = await peek(stream);
    const { fileName, contentType = null } = file;
    const { format, charset } = await detectFormat({ head, fileName, contentType }, recogniseType);
    refuseLarge(format, sizeBytes, limits);
    const sink = new WindowSink({ ...limits, textCharsMax: charsMaxOf(format, limits), windowChars, take, signal });
    if (isTextFormat(format)) {
      sink.watch(deadline, deadlineError);
      const result = await readInWorker({ format, charset, source: whole, sizeBytes }, sink);
      await sink.finish();
      return { ...result, recognisedPages: [], unsurePictures: [], peakMemoryBytes: null };
    }
    const put = (blocks: BlockDraft[]) => {
      for (const block of blocks) sink.add(block);
      return sink.flush();
    };
    texts = pictures && new ImageTexts(pictures, { ms: limits.imagesMs, signal, put });
    if (isPictureFormat(format)) {
      if (texts === null)
        throw new ExtractError(
          'unsupported_type',
          'the file is a picture, and ocr_strategy is never; upload it again with ocr_strategy auto',
        );
      const pages = await readPicture({ source: whole, sizeBytes, pagesMax: limits.imagesMax }, texts);
      await sink.finish();
      return { ...texts.mergeInto(resultOf(format, pages)), peakMemoryBytes: null };
    }
    deadline.stop();
    const orderedTexts = texts;
    const result = await withSlot(() => {
      signal?.throwIfAborted();
      const ocrStrategy = pictures?.strategy ?? null;
      const reading = runChild(taskOf({ format, charset, ocrStrategy }, sizeBytes, limits), whole, {
        limits,
        signal,
        children: file.children,
        onBlocks: (blocks) => (orderedTexts === null ? put(blocks) : orderedTexts.addBlocks(blocks)),
        onImage: (image) => addPicture(orderedTexts as ImageTexts, image, limits.imagesMax),
      });
      return orderedTexts === null ? reading : reading.catch(asPictureFault);
    });
    await orderedTexts?.finish();
    await sink.finish();
    return orderedTexts?.mergeInto(result) ?? { ...result, recognisedPages: [], unsurePictures: [] };
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    deadline.stop();
    await texts?.abandon();
    signal?.removeEventListener('abort', onAbort);
    stream.destroy();
  }
}

/** Add a picture of a page or attachment. An attached TIFF file may have several pages. */
async function addPicture(texts: ImageTexts, { type: _, data, ...place }: ImageLine, pagesMax: number): Promise<void> {
  const file = Uint8Array.from(Buffer.from(data, 'base64'));
  const pages = [...pagesOfPicture(file, pagesMax)];
  if (pages.length > 1) for (const own of pages) await texts.addImage({ ...place, ...own });
  else await texts.addImage({ ...place, file });
}

function asPictureFault(error: unknown): never {
  throw error instanceof ExtractError && error.category === 'out_of_memory' ? new PicturesDoNotFit(error) : error;
}

function charsMaxOf(format: FileFormat, limits: ExtractLimits): number {
  switch (format) {
    case 'csv':
    case 'tsv':
    case 'json':
    case 'jsonl':
      return limits.dataCharsMax;
    default:
      return limits.textCharsMax;
  }
}

function taskOf(
  detected: Pick<ChildTask, 'format' | 'charset' | 'ocrStrategy'>,
  sizeBytes: number,
  limits: ExtractLimits,
): ChildTask {
  const { pagesMax, textCharsMax, htmlBytesMax, unpackedBytesMax, entriesMax } = limits;
  const bounds = { pagesMax, textCharsMax, htmlBytesMax, unpackedBytesMax, entriesMax };
  const { imagesMax, imageBytesMax } = limits;
  return { ...detected, ...bounds, imagesMax, imageBytesMax, sizeBytes };
}

function refuseLarge(format: FileFormat, sizeBytes: number, limits: ExtractLimits): void {
  const bytesMax = bytesMaxOf(format, limits);
  if (sizeBytes <= bytesMax) return;
  throw new ExtractError('too_large', `the file has ${sizeBytes} bytes; a ${format} file may have at most ${bytesMax}`);
}

function bytesMaxOf(format: FileFormat, limits: ExtractLimits): number {
  switch (format) {
    case 'pdf':
      return limits.pdfBytesMax;
    case 'html':
      return limits.htmlBytesMax;
    case 'zip':
    case 'cfb':
    case 'fodf':
    case 'hml':
      return limits.officeBytesMax;
    case 'rtf':
      return limits.rtfBytesMax;
    case 'eml':
      return limits.mailBytesMax;
    case 'txt':
    case 'md':
    case 'ipynb':
      return limits.textBytesMax;
    case 'png':
    case 'jpeg':
    case 'webp':
    case 'gif':
    case 'tiff':
      return limits.imageBytesMax;
    default:
      return limits.dataBytesMax;
  }
}

/** Read the first bytes of a stream. Return them with an iterator over the entire stream, including these bytes. */
async function peek(stream: Readable): Promise<{ head: Uint8Array; whole: AsyncIterable<Uint8Array> }> {
  const iterator = (stream as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  const first: Uint8Array[] = [];
  let length = 0;
  while (length < HEAD_BYTES) {
    const { done, value } = await iterator.next();
    if (done) break;
    first.push(value);
    length += value.length;
  }
  async function* whole(): AsyncGenerator<Uint8Array> {
    yield* first.splice(0);
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  return { head: Buffer.concat(first).subarray(0, HEAD_BYTES), whole: whole() };
}
