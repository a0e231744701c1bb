import { ExtractError, isOutOfMemory } from './errors.ts';
import { loadPdfJs, type PdfDocument, type PdfPage } from './load-pdfjs.ts';
import { addCharacterMaps } from './pdf/add-character-maps.ts';
import { formItems, insertItems } from './pdf/form-items.ts';
import { joinSpacedLetters } from './pdf/letter-spacing.ts';
import { type PageBox, removeOverprints, removeUnmapped, turnUpright } from './pdf/page-items.ts';
import { imagesOf } from './pdf-images.ts';
import { linesInReadingOrder, type PdfTextItem } from './pdf-lines.ts';
import type { PdfPageLines } from './pdf-margins.ts';
import { PdfBlocks } from './pdf-window.ts';
import type { BlockSink, ImageSink } from './reader.ts';

/** Result of reading a PDF, without its text. */
export interface PdfSummary {
  readonly pages: number;
  /** Pages, from 1, without text (scans, pictures). */
  readonly emptyPages: number[];
  /** Pages, from 1, that couldn't be read. */
  readonly failedPages: number[];
  /** Pages, from 1, with text whose fonts don't tell which characters their glyphs represent. That text is omitted. */
  readonly unmappedPages: number[];
}

export interface PdfOptions {
  readonly pagesMax: number;
  readonly textCharsMax: number;
  readonly cmapFolder: string | null;
  /** Folder of image decoders; null if fax, JBIG2 and JPEG 2000 images can't be decoded. */
  readonly wasmFolder: string | null;
  /** Sink of pictures; null to leave pages without text empty. */
  readonly images: ImageSink | null;
}

/** Size of a window, in pages and characters. After each window, fonts and other shared resources are dropped. */
const WINDOW_PAGES = 50;
const WINDOW_CHARS = 1024 * 1024;
/** Maximum number of pixels per image. A4 at 600 dpi has 35 million; decoding takes up to ten bytes per pixel. */
const IMAGE_PIXELS_MAX = 36_000_000;

/**
 * Read the text of a PDF and pass it to `sink` a window of pages at a time, so that memory doesn't grow with the number
 * of pages. `data` is transferred (detached). Without `cmapFolder`, text in fonts with a predefined East Asian encoding
 * is lost.
 * @throws ExtractError `encrypted` (a password is needed), `corrupt`, `too_large`
 */
export async function readPdf(data: Uint8Array, sink: BlockSink, options: PdfOptions): Promise<PdfSummary> {
  const document = await open(data, options);
  const pages = document.numPages;
  if (pages > options.pagesMax) {
    throw new ExtractError('too_large', `the PDF has ${pages} pages; at most ${options.pagesMax} are read`);
  }
  const { images } = options;
  const emptyPages: number[] = [];
  const failedPages: number[] = [];
  const unmappedPages: number[] = [];
  const blocks = new PdfBlocks();
  let window: PdfPageLines[] = [];
  let windowChars = 0;
  let charsLeft = options.textCharsMax;
  let hasText = false;
  let pictures = 0;
  const flushWindow = async () => {
    for (const block of blocks.toBlocks(window)) sink.add(block);
    window = [];
    windowChars = 0;
    await sink.flush();
  };
  const addImages = async (page: PdfPage, to: ImageSink) => {
    const { files, isDamaged } = await imagesOf(page);
    if (files.length > 0) await flushWindow();
    pictures += files.length;
    let areAccepted = true;
    for (const file of files) areAccepted &&= await to.take({ file, page: page.pageNumber });
    return areAccepted && !isDamaged;
  };
  for (let number = 1; number <= pages; number++) {
    try {
      const page = await document.getPage(number);
      const { items, box, isIncomplete, isUnmapped } = await itemsOf(page, charsLeft);
      const [left, bottom, right, top] = box;
      const found = linesInReadingOrder(items, right - left);
      if (isIncomplete) unmappedPages.push(number);
      if (found.length > 0) window.push({ page: number, top, bottom, lines: found });
      hasText ||= found.length > 0;
      const chars = items.reduce((sum, item) => sum + item.str.length, 0);
      charsLeft -= chars;
      windowChars += chars;
      const mayShowText = images !== null && (found.length === 0 || images.strategy === 'always');
      const areImagesRead = mayShowText ? await addImages(page, images) : true;
      if (isUnmapped || !areImagesRead) failedPages.push(number);
      else if (found.length === 0) emptyPages.push(number);
      page.cleanup();
    } catch (error) {
      if (error instanceof ExtractError || isOutOfMemory(String(error))) throw error;
      failedPages.push(number);
    }
    if (number % WINDOW_PAGES !== 0 && windowChars < WINDOW_CHARS) continue;
    await flushWindow();
    await document.cleanup();
  }
  // A page with unreadable pictures may still have text.
  if (failedPages.length === pages && !hasText && (unmappedPages.length === 0 || pictures === 0))
    throw unreadable(unmappedPages.length > 0);
  await flushWindow();
  return { pages, emptyPages, failedPages, unmappedPages };
}

async function open(data: Uint8Array, { cmapFolder, wasmFolder }: PdfOptions): Promise<PdfDocument> {
  const { getDocument, VerbosityLevel } = await loadPdfJs();
  const task = getDocument({
    data: addCharacterMaps(data),
    verbosity: VerbosityLevel.WARNINGS,
    // Glyph outlines are not needed, and no resource may be fetched.
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    enableXfa: false,
    // Pictures are decoded to plain pixels, in limited number.
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    maxImageSize: IMAGE_PIXELS_MAX,
    ...(wasmFolder === null ? { useWasm: false } : { wasmUrl: wasmFolder }),
    ...(cmapFolder === null ? {} : { cMapUrl: cmapFolder, cMapPacked: true }),
  });
  return task.promise.catch((error: unknown) => {
    throw toOpeningError(error);
  });
}

function unreadable(isUnmapped: boolean): ExtractError {
  return new ExtractError(
    'corrupt',
    isUnmapped ? 'the fonts of the PDF do not say which characters their glyphs are' : 'no page of the PDF can be read',
  );
}

interface PageItems {
  readonly items: readonly PdfTextItem[];
  readonly box: PageBox;
  /** True if undecodable text of the page is omitted. */
  readonly isIncomplete: boolean;
  /** True if the page has no decodable text. */
  readonly isUnmapped: boolean;
}

/** Read a page's items and forms: upright, without duplicates, in words. @throws ExtractError `too_large` */
async function itemsOf(page: PdfPage, charsLeft: number): Promise<PageItems> {
  const [left = 0, bottom = 0, right = 0, top = 0] = page.view;
  const own = await textOf(page, charsLeft);
  const values = await formItems(page);
  const { items, isIncomplete, isUnmapped } = removeUnmapped(own);
  const written = await joinSpacedLetters(page, removeOverprints(items));
  const upright = turnUpright(insertItems(written, values), [left, bottom, right, top]);
  return { ...upright, isIncomplete, isUnmapped };
}

/** @throws ExtractError `too_large` beyond `charsLeft` */
async function textOf(page: PdfPage, charsLeft: number): Promise<PdfTextItem[]> {
  const items: PdfTextItem[] = [];
  let chars = 0;
  const reader = page.streamTextContent().getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const item of (part.value as { items: unknown[] }).items) {
      const own = toItem(item as RawItem);
      if (own === null) continue;
      chars += own.str.length;
      if (chars > charsLeft)
        throw new ExtractError('too_large', 'the PDF has more text than is allowed; divide it into smaller files');
      items.push(own);
    }
  }
  return items;
}

function toOpeningError(error: unknown): unknown {
  if (error instanceof Error && error.name === 'PasswordException') {
    return new ExtractError(
      'encrypted',
      'the PDF is protected by a password; remove the password and upload it again',
      error,
    );
  }
  if (isOutOfMemory(String(error))) return error;
  return new ExtractError('corrupt', 'the PDF is damaged and cannot be opened', error);
}

/** Fields of pdf.js's `TextItem` that are used here. Marked content has no `str`. */
interface RawItem {
  readonly str?: string;
  /** Matrix from text space to PDF space: [a b c d e f]. */
  readonly transform: number[];
  readonly width: number;
  readonly hasEOL: boolean;
}

function toItem(raw: RawItem): PdfTextItem | null {
  if (raw.str === undefined) return null;
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = raw.transform;
  return {
    str: raw.str,
    x,
    y,
    width: raw.width,
    fontSize: Math.round(Math.hypot(c, d) * 4) / 4 || 1,
    angle: Math.round((Math.atan2(b, a) * 180) / Math.PI),
    endsLine: raw.hasEOL,
  };
}
