import { getResolvedPDFJS } from 'unpdf';
import type { BlockDraft } from './blocks.ts';
import { ExtractError, isOutOfMemory } from './errors.ts';
import { linesInReadingOrder, type PdfTextItem } from './pdf-lines.ts';
import { type PdfParagraph, toBlocks, toParagraphs } from './pdf-paragraphs.ts';

export interface PdfContent {
  readonly blocks: BlockDraft[];
  readonly pages: number;
  /** Pages, from 1, that hold no text (scans, pictures). */
  readonly emptyPages: number[];
  /** Pages, from 1, that could not be read. */
  readonly failedPages: number[];
}

/** Fonts and other shared resources are dropped after so many pages. */
const CLEANUP_PAGES = 50;

/** Loads pdf.js, so that `readPdf` needs no module any more. */
export async function preparePdf(): Promise<void> {
  await getResolvedPDFJS();
}

/**
 * Text of a PDF, page by page. `data` is taken over (it is detached). Without `cmapFolder` the text of fonts in a
 * predefined East Asian encoding is lost.
 *
 * @throws ExtractError `encrypted` (a password is needed), `corrupt`, `too_large`
 */
export async function readPdf(
  data: Uint8Array,
  options: { pagesMax: number; textCharsMax: number; cmapFolder: string | null },
): Promise<PdfContent> {
  const { getDocument, VerbosityLevel } = await getResolvedPDFJS();
  const task = getDocument({
    data,
    verbosity: VerbosityLevel.WARNINGS,
    // Glyph outlines and pictures are of no interest, and no resource may be looked for elsewhere.
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    useWasm: false,
    enableXfa: false,
    ...(options.cmapFolder === null ? {} : { cMapUrl: options.cmapFolder, cMapPacked: true }),
  });
  const document = await task.promise.catch((error: unknown) => {
    throw openingFault(error);
  });
  const pages = document.numPages;
  if (pages > options.pagesMax) {
    throw new ExtractError('too_large', `the PDF has ${pages} pages; at most ${options.pagesMax} are read`);
  }
  const paragraphs: PdfParagraph[] = [];
  const emptyPages: number[] = [];
  const failedPages: number[] = [];
  let chars = 0;
  for (let number = 1; number <= pages; number++) {
    try {
      const page = await document.getPage(number);
      const items: PdfTextItem[] = [];
      const reader = page.streamTextContent().getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (const item of (part.value as { items: unknown[] }).items) {
          const own = toItem(item as RawItem);
          if (own === null) continue;
          chars += own.str.length;
          if (chars > options.textCharsMax) {
            throw new ExtractError('too_large', `the PDF holds more than ${options.textCharsMax} characters of text`);
          }
          items.push(own);
        }
      }
      const [left = 0, , right = 0] = page.view;
      const found = toParagraphs(linesInReadingOrder(items, right - left), number);
      if (found.length === 0) emptyPages.push(number);
      for (const paragraph of found) paragraphs.push(paragraph);
      page.cleanup();
    } catch (error) {
      if (error instanceof ExtractError || isOutOfMemory(String(error))) throw error;
      failedPages.push(number);
    }
    if (number % CLEANUP_PAGES === 0) await document.cleanup();
  }
  if (failedPages.length === pages) throw new ExtractError('corrupt', 'no page of the PDF can be read');
  return { blocks: toBlocks(paragraphs), pages, emptyPages, failedPages };
}

function openingFault(error: unknown): unknown {
  if (error instanceof Error && error.name === 'PasswordException') {
    return new ExtractError('encrypted', 'the PDF is protected by a password', error);
  }
  if (isOutOfMemory(String(error))) return error;
  return new ExtractError('corrupt', 'the PDF is damaged and cannot be opened', error);
}

/** The part of pdf.js' `TextItem` that is used; marked content has no `str`. */
interface RawItem {
  readonly str?: string;
  /** Text space to PDF space: [a b c d e f]. */
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
