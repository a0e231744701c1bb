import { parseXml, type XmlHandler } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import { BlockWriter } from '../block-writer.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import { type Reading, type ReadResult, resultOf, type SkippedPart } from '../reader.ts';
import { OdfBody, type SlideListener } from './odf-body.ts';
import { type OdfCharts, readOdfCharts } from './odf-charts.ts';
import { OdfStyles } from './odf-styles.ts';
import { OdsBody } from './ods-body.ts';
import { PackagePictures, PICTURE_BYTES_MAX, type PicturePlace } from './package-pictures.ts';
import { arrangeSlide, slideHeading } from './slide-blocks.ts';

const CONTENT = 'content.xml';

/**
 * Read an OpenDocument text, spreadsheet or presentation (ISO/IEC 26300): headings by outline level, list items,
 * tables, listings by style, notes after their paragraph. Pages are slides or sheets. Omit deleted text, comments,
 * headers and footers, and indexes.
 */
export async function readOdf(zip: Zip, format: 'odt' | 'ods' | 'odp', reading: Reading): Promise<ReadResult> {
  if (await isEncrypted(zip))
    throw new ExtractError('encrypted', 'the file is protected by a password; remove the password and upload it again');
  const styles = new OdfStyles();
  if (format !== 'ods' && zip.has('styles.xml')) await parseXml(zip.stream('styles.xml'), styles);
  const found: FoundPicture[] = [];
  const textPages = new Set<number | undefined>();
  const parts = { styles, charts: await readOdfCharts(zip), found, textPages };
  const result = await readContent(zip.stream(CONTENT), format, parts, reading);
  return { ...result, skipped: await takePictures(zip, found, textPages, reading) };
}

/**
 * Read an OpenDocument document that is a single XML file: `.fodt`, `.fods` or `.fodp`.
 * @throws ExtractError `unsupported_type` for drawings and other kinds, `corrupt`
 */
export async function readFlatOdf(bytes: Uint8Array, reading: Reading): Promise<ReadResult> {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, ROOT_BYTES)).toString('latin1');
  const kind = /\soffice:mimetype\s*=\s*["']application\/vnd\.oasis\.opendocument\.(\w+)/.exec(start)?.[1] ?? 'text';
  const format = FLAT_FORMATS[kind];
  if (format === undefined)
    throw new ExtractError(
      'unsupported_type',
      `OpenDocument files of the kind ${kind} are not supported; export the file as PDF`,
    );
  return readContent(
    slicesOf(bytes),
    format,
    { styles: new OdfStyles(), charts: new Map(), found: [], textPages: new Set() },
    reading,
  );
}

const ROOT_BYTES = 16 * 1024;
const SLICE_BYTES = 64 * 1024;
const FLAT_FORMATS: Readonly<Record<string, 'odt' | 'ods' | 'odp'>> = {
  text: 'odt',
  spreadsheet: 'ods',
  presentation: 'odp',
};

async function* slicesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

interface ContentParts {
  readonly styles: OdfStyles;
  readonly charts: OdfCharts;
  /** Pictures collected from the content. */
  readonly found: FoundPicture[];
  /** Collected pages with text; undefined stands for a document without pages. */
  readonly textPages: Set<number | undefined>;
}

interface FoundPicture {
  readonly name: string;
  readonly place: PicturePlace;
}

/** Recognise pictures after the text, under a heading for each slide or sheet. */
async function takePictures(
  zip: Zip,
  found: readonly FoundPicture[],
  textPages: ReadonlySet<number | undefined>,
  { sink, images }: Reading,
): Promise<SkippedPart[]> {
  const pictures = new PackagePictures(images);
  let page: number | undefined;
  for (const { name, place } of found) {
    if (!zip.has(name) || !pictures.wants(textPages.has(place.page))) continue;
    if (place.page !== page && place.page !== undefined)
      sink.add({ ...slideHeading(place.page), text: place.sheet ?? `Slide ${place.page}`, ...place });
    page = place.page;
    await pictures.take(name, place, () => zip.bytes(name, PICTURE_BYTES_MAX));
  }
  return pictures.skipped;
}

async function readContent(
  content: AsyncIterable<Uint8Array>,
  format: 'odt' | 'ods' | 'odp',
  { styles, charts, found, textPages }: ContentParts,
  { sink, pagesMax }: Reading,
): Promise<ReadResult> {
  const flush = () => sink.flush();
  if (format === 'ods') {
    const add = (block: BlockDraft) => {
      textPages.add(block.page);
      sink.add(block);
    };
    const body = new OdsBody(add, pagesMax, charts, (name, place) => found.push({ name, place }));
    await parseXml(content, body, flush);
    return resultOf(format, { pages: body.sheets });
  }
  const slides = format === 'odp' ? new Slides((block) => sink.add(block), pagesMax) : null;
  const placeOf = () => (slides === null ? {} : { page: slides.count, slide: slides.count });
  const writer = new BlockWriter((block) => {
    if (block.text.trim() !== '') textPages.add(placeOf().page);
    if (slides === null) sink.add(block);
    else slides.add(block);
  });
  slides?.onSectionEnd(() => writer.end());
  const body = new OdfBody(writer, { styles, charts }, slides, (name) => found.push({ name, place: placeOf() }));
  await parseXml(content, withStyles(styles, body), flush);
  writer.end();
  return resultOf(format, { pages: slides?.count ?? null });
}

/** Combine the style and body handlers, since one file has the automatic styles before the body. */
function withStyles(styles: OdfStyles, body: OdfBody): XmlHandler {
  return {
    open(name, attributes) {
      styles.open(name, attributes);
      body.open(name, attributes);
    },
    close: (name) => body.close(name),
    text: (text) => body.text(text),
  };
}

/** Collector of a presentation's blocks, slide by slide. */
class Slides implements SlideListener {
  readonly #add: (block: BlockDraft) => void;
  readonly #slidesMax: number;
  #endBlocks: () => void = () => {};
  #body: BlockDraft[] = [];
  #notes: BlockDraft[] = [];
  #current = this.#body;
  #count = 0;

  constructor(add: (block: BlockDraft) => void, slidesMax: number) {
    this.#add = add;
    this.#slidesMax = slidesMax;
  }

  get count(): number {
    return this.#count;
  }

  /** @param endBlocks called before the target of blocks changes, to add the open ones */
  onSectionEnd(endBlocks: () => void): void {
    this.#endBlocks = endBlocks;
  }

  add(block: BlockDraft): void {
    this.#current.push(block);
  }

  openSlide(): void {
    if (++this.#count > this.#slidesMax) {
      throw new ExtractError('too_large', `the document has more than ${this.#slidesMax} slides`);
    }
    this.#reset();
  }

  openNotes(): void {
    this.#endBlocks();
    this.#current = this.#notes;
  }

  closeSlide(): void {
    this.#endBlocks();
    for (const block of arrangeSlide(this.#count, this.#body, this.#notes)) this.#add(block);
    this.#reset();
  }

  #reset(): void {
    this.#body = [];
    this.#notes = [];
    this.#current = this.#body;
  }
}

/** Return true if the manifest lists encrypted entries (part 2 of the standard, 3.4). */
async function isEncrypted(zip: Zip): Promise<boolean> {
  if (!zip.has('META-INF/manifest.xml')) return false;
  let found = false;
  await parseXml(zip.stream('META-INF/manifest.xml'), {
    open(name) {
      if (name === 'manifest:encryption-data') found = true;
    },
  });
  return found;
}
