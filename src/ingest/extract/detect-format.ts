import { fileTypeFromBuffer } from 'file-type';
import { byteOrderMark, decodeText, utf16ByPattern } from './decode-text.ts';
import { ExtractError } from './errors.ts';

export type DocumentFormat = 'txt' | 'md' | 'html' | 'pdf';

export interface DetectedFormat {
  readonly format: DocumentFormat;
  /** `charset` of the declared content type, where it names one. */
  readonly charset: string | null;
}

/** How many bytes of the start of a file `detectFormat` wants to see. */
export const HEAD_BYTES = 4096;

const MARKDOWN_NAMES: ReadonlySet<string> = new Set(['md', 'markdown', 'mdown', 'mkd', 'mdx']);
const HTML_NAMES: ReadonlySet<string> = new Set(['html', 'htm', 'xhtml']);
/** Names that promise a binary format: plain text under such a name is a broken file, not a text. */
const BINARY_NAMES: ReadonlySet<string> = new Set(
  'pdf docx pptx xlsx doc ppt xls odt ods odp epub hwp hwpx png jpg jpeg webp gif tif tiff bmp zip gz 7z'.split(' '),
);
/** Recognised formats that consist of text and are still no text to read. */
const TEXTUAL_UNSUPPORTED: ReadonlySet<string> = new Set(['rtf', 'ps', 'eps', 'svg', 'pgp']);

const HTML_START = /^(?:\s|<!--[\s\S]*?-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html[\s>])/i;

/**
 * What a file is, by its first bytes; its name and declared type only tell kinds of text apart.
 *
 * @param file `head`: the first 4 KiB (all of a shorter file)
 * @throws ExtractError `corrupt` for an empty file and for one that is not what its name promises,
 *   `unsupported_type` for all that is recognised, or plainly binary, and not read here
 */
export async function detectFormat(file: {
  head: Uint8Array;
  fileName: string;
  contentType?: string | null;
}): Promise<DetectedFormat> {
  const head = file.head.subarray(0, HEAD_BYTES);
  if (head.length === 0) throw new ExtractError('corrupt', 'the file is empty');
  const extension = extensionOf(file.fileName);
  const contentType = parseContentType(file.contentType);
  const promisesPdf = extension === 'pdf' || contentType.type === 'application/pdf';

  const pdfAt = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 1024 + 5)).indexOf(
    '%PDF-',
    0,
    'latin1',
  );
  if (pdfAt === 0) return { format: 'pdf', charset: null };

  const text = looksLikeText(head);
  const known = await recognise(head);
  // Two-byte signatures ("BM", "MZ") also start English words, so clean text outvotes them.
  if (known !== null && (!text || TEXTUAL_UNSUPPORTED.has(known.ext))) {
    throw new ExtractError('unsupported_type', `files of type ${known.mime} (.${known.ext}) are not supported`);
  }
  // Readers of PDF accept junk before the header; as this could be any text that mentions it, the name decides.
  if (pdfAt > 0 && promisesPdf) return { format: 'pdf', charset: null };
  if (!text) {
    if (promisesPdf) throw new ExtractError('corrupt', 'the file is named as a PDF but its content is not one');
    throw new ExtractError('unsupported_type', 'the file is binary data of an unknown type');
  }

  const start = decodeText(head).text;
  const { charset } = contentType;
  if (HTML_START.test(start)) return { format: 'html', charset };
  if (promisesPdf || BINARY_NAMES.has(extension)) {
    throw new ExtractError('corrupt', `the file is named .${extension || 'pdf'} but holds plain text`);
  }
  if (HTML_NAMES.has(extension)) return { format: 'html', charset };
  if (MARKDOWN_NAMES.has(extension)) return { format: 'md', charset };
  if (extension === 'txt') return { format: 'txt', charset };
  if (contentType.type === 'text/html' || contentType.type === 'application/xhtml+xml')
    return { format: 'html', charset };
  if (contentType.type === 'text/markdown') return { format: 'md', charset };
  return { format: 'txt', charset };
}

async function recognise(head: Uint8Array): Promise<{ ext: string; mime: string } | null> {
  try {
    return (await fileTypeFromBuffer(head, { maxBufferSize: 64 * 1024 })) ?? null;
  } catch {
    // A signature whose header lies about lengths; not recognised is the right answer.
    return null;
  }
}

/**
 * Text in any encoding: few bytes below 0x20 beyond the blanks. Valid UTF-8 may hold more of them (a log with NULs),
 * since binary data of some length never is valid UTF-8.
 */
function looksLikeText(head: Uint8Array): boolean {
  const wide = byteOrderMark(head) ?? utf16ByPattern(head);
  if (wide?.startsWith('utf-16')) {
    const { text } = decodeText(head);
    return controlCount(text.length, (i) => text.charCodeAt(i)) <= text.length * 0.02;
  }
  const control = controlCount(head.length, (i) => head[i] ?? 0);
  if (control === 0) return true;
  return control <= head.length * (isUtf8(head) ? 0.3 : 0.02);
}

/** How many of `length` code units are control characters that text does not use. */
function controlCount(length: number, unitAt: (index: number) => number): number {
  let count = 0;
  for (let i = 0; i < length; i++) {
    const unit = unitAt(i);
    if (unit < 0x20 && !(unit >= 0x08 && unit <= 0x0d) && unit !== 0x1b) count++;
  }
  return count;
}

function isUtf8(head: Uint8Array): boolean {
  try {
    // `stream` forgives a character that is cut at the end of the window.
    new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return true;
  } catch {
    return false;
  }
}

function extensionOf(fileName: string): string {
  const dot = fileName.lastIndexOf('.');
  return dot < 0 ? '' : fileName.slice(dot + 1).toLowerCase();
}

function parseContentType(value: string | null | undefined): { type: string; charset: string | null } {
  if (value === null || value === undefined) return { type: '', charset: null };
  const [type = '', ...parameters] = value.toLowerCase().split(';');
  const charset = parameters
    .map((parameter) => /^\s*charset\s*=\s*"?([\w.:-]{1,40})"?\s*$/.exec(parameter)?.[1])
    .find(Boolean);
  return { type: type.trim(), charset: charset ?? null };
}
