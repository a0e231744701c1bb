import { entryName } from '../archive/package-parts.ts';
import { parseXml } from '../archive/xml.ts';
import type { Zip } from '../archive/zip.ts';
import type { BlockDraft } from '../blocks.ts';
import { ExtractError } from '../errors.ts';
import { inlinePicture } from '../inline-pictures.ts';
import { readHtmlPage } from '../read-html.ts';
import { type Reading, type ReadResult, resultOf } from '../reader.ts';
import { readPackage } from './opf.ts';
import { PackagePictures, PICTURE_BYTES_MAX } from './package-pictures.ts';

/** Algorithms of font obfuscation, which even an unencrypted book may use. */
const OBFUSCATION: ReadonlySet<string> = new Set([
  'http://www.idpf.org/2008/embedding',
  'http://ns.adobe.com/pdf/enc#RC',
]);

/** Media types of chapters: pages, and drawings of a page. */
const PAGE = /html|^text\/x-oeb|^image\/svg/;

/**
 * Read the text of an EPUB book, chapter by chapter in spine order: the title as the first heading, with the chapters'
 * headings below it. A chapter without a heading gets its entry in the table of contents. A chapter that the spine
 * repeats is read once. Recognise the pictures of chapters without text, and chapters that are pictures themselves.
 */
export async function readEpub(zip: Zip, reading: Reading): Promise<ReadResult> {
  const { sink, images, htmlBytesMax } = reading;
  const pictures = new PackagePictures(images);
  const packagePart = await findPackage(zip);
  const book = await readPackage(zip, packagePart);
  const encrypted = await readEncrypted(zip);
  const labels = await readLabels(zip, book.contents, htmlBytesMax);
  const shift = book.title === null ? 0 : 1;
  if (book.title !== null) sink.add({ kind: 'heading', level: 1, text: book.title });
  const read = new Set<string>();
  let inlinePictures = 0;
  for (const { part, mediaType, isContents } of book.spine) {
    const isPicture = /^image\/(?!svg)/.test(mediaType);
    if (isContents || read.has(part) || !zip.has(part) || !(isPicture || PAGE.test(mediaType))) continue;
    if (encrypted.has(part))
      throw new ExtractError('encrypted', 'the book is protected by encryption; upload a copy without protection');
    read.add(part);
    if (isPicture) {
      if (pictures.wants(false)) await pictures.take(part, {}, () => zip.bytes(part, PICTURE_BYTES_MAX));
      continue;
    }
    const page = readHtmlPage(await zip.bytes(part, htmlBytesMax), null, { isXhtml: true, title: 'never' });
    const { blocks } = page;
    const hasText = blocks.some(({ text }) => text.trim() !== '');
    const label = labels.get(part);
    if (label !== undefined && blocks.length > 0 && !blocks.some(({ kind }) => kind === 'heading')) {
      blocks.unshift({ kind: 'heading', level: 1, text: label });
    }
    for (const block of blocks) sink.add(shifted(block, shift));
    await sink.flush();
    for (const source of pictures.wants(hasText) ? page.pictures : []) {
      const picture = entryName(part.slice(0, part.lastIndexOf('/') + 1), source);
      const inline = inlinePicture(source);
      if (inline !== null) await pictures.take(`${part}#picture-${++inlinePictures}`, {}, async () => inline);
      else if (zip.has(picture)) await pictures.take(picture, {}, () => zip.bytes(picture, PICTURE_BYTES_MAX));
    }
  }
  return resultOf('epub', { skipped: pictures.skipped });
}

function shifted(block: BlockDraft, by: number): BlockDraft {
  return block.kind === 'heading' ? { ...block, level: (block.level ?? 1) + by } : block;
}

async function findPackage(zip: Zip): Promise<string> {
  let found: string | null = null;
  await parseXml(zip.stream('META-INF/container.xml'), {
    open(name, attributes) {
      if (name === 'container:rootfile') found ??= attributes['full-path'] ?? null;
    },
  });
  if (found === null) throw new ExtractError('corrupt', 'the EPUB file has no package document');
  return found;
}

/** Read the names of entries that can't be read without a key. */
async function readEncrypted(zip: Zip): Promise<Set<string>> {
  const entries = new Set<string>();
  if (!zip.has('META-INF/encryption.xml')) return entries;
  let isObfuscated = false;
  await parseXml(zip.stream('META-INF/encryption.xml'), {
    open(name, attributes) {
      if (name === 'enc:EncryptedData') isObfuscated = false;
      else if (name === 'enc:EncryptionMethod') isObfuscated = OBFUSCATION.has(attributes['Algorithm'] ?? '');
      else if (name === 'enc:CipherReference' && !isObfuscated) entries.add(entryName('', attributes['URI'] ?? ''));
    },
  });
  return entries;
}

/** Read each file's label from the table of contents (EPUB 2: `toc.ncx`). */
async function readLabels(zip: Zip, part: string | null, bytesMax: number): Promise<Map<string, string>> {
  const labels = new Map<string, string>();
  if (part === null || !zip.has(part)) return labels;
  const folder = part.slice(0, part.lastIndexOf('/') + 1);
  const add = (reference: string, label: string[]) => {
    const name = entryName(folder, reference);
    const text = label.join('').replace(/\s+/g, ' ').trim();
    if (text !== '' && !labels.has(name)) labels.set(name, text);
  };
  let label: string[] = [];
  let reference: string | null = null;
  let isText = false;
  let read = 0;
  await parseXml(zip.stream(part), {
    open(name, attributes) {
      if (name === 'ncx:navPoint') label = [];
      else if (name === 'ncx:text') isText = true;
      else if (name === 'ncx:content') add(attributes['src'] ?? '', label);
      else if (name.endsWith(':a')) {
        reference = attributes['href'] ?? null;
        label = [];
        isText = true;
      }
    },
    close(name) {
      if (name === 'ncx:text') isText = false;
      if (!name.endsWith(':a')) return;
      if (reference !== null) add(reference, label);
      isText = false;
    },
    text(text) {
      read += text.length;
      if (read > bytesMax) throw new ExtractError('too_large', 'the table of contents is too long');
      if (isText) label.push(text);
    },
  });
  return labels;
}
