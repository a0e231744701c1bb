import { byteOrderMark, decodeText, encodingByEscapes, wideByPattern } from './decode-text.ts';
import { ExtractError } from './errors.ts';
import { refusalOf } from './format-names.ts';

export const DOCUMENT_FORMATS = [
  'txt',
  'md',
  'html',
  'csv',
  'tsv',
  'json',
  'jsonl',
  'pdf',
  'docx',
  'pptx',
  'xlsx',
  'odt',
  'ods',
  'odp',
  'rtf',
  'epub',
  'eml',
  'hwp',
  'hwpx',
  'hml',
  'ipynb',
  'png',
  'jpeg',
  'webp',
  'gif',
  'tiff',
] as const;
export type DocumentFormat = (typeof DOCUMENT_FORMATS)[number];

/**
 * Format by the first bytes. The format within a container (zip archive, compound file; `fodf`: OpenDocument as a
 * single XML file) is only known once it is opened.
 */
export type FileFormat =
  | 'txt'
  | 'md'
  | 'html'
  | 'csv'
  | 'tsv'
  | 'json'
  | 'jsonl'
  | 'pdf'
  | 'rtf'
  | 'eml'
  | 'zip'
  | 'cfb'
  | 'ipynb'
  | 'fodf'
  | 'hml'
  | PictureFormat;

export type PictureFormat = Extract<DocumentFormat, 'png' | 'jpeg' | 'webp' | 'gif' | 'tiff'>;

const PICTURE_FORMATS: ReadonlySet<FileFormat> = new Set<PictureFormat>(['png', 'jpeg', 'webp', 'gif', 'tiff']);

export function isPictureFormat(format: FileFormat): format is PictureFormat {
  return PICTURE_FORMATS.has(format);
}

export interface DetectedFormat {
  readonly format: FileFormat;
  /** `charset` of the declared content type; null if there is none. */
  readonly charset: string | null;
}

/** Function that returns a file's type by its signature, or null if unknown. */
export type Recognise = (head: Uint8Array) => Promise<{ ext: string; mime: string } | null>;

/** Number of bytes from the start of a file that `detectFormat` needs. */
export const HEAD_BYTES = 4096;

/** Text formats by file extension and by media type. */
const TEXT_NAMES: ReadonlyMap<string, FileFormat> = new Map([
  ...names('md', 'md markdown mdown mkd mdx'),
  ...names('html', 'html htm xhtml'),
  ...names('csv', 'csv'),
  ...names('tsv', 'tsv tab'),
  ...names('json', 'json geojson'),
  ...names('jsonl', 'jsonl ndjson'),
  ...names('ipynb', 'ipynb'),
  ...names('txt', 'txt'),
]);
const TEXT_TYPES: ReadonlyMap<string, FileFormat> = new Map([
  ...names('html', 'text/html application/xhtml+xml'),
  ...names('md', 'text/markdown'),
  ...names('csv', 'text/csv'),
  ...names('tsv', 'text/tab-separated-values'),
  ...names('json', 'application/json application/geo+json'),
  ...names('jsonl', 'application/jsonl application/x-ndjson application/x-jsonlines'),
  ...names('ipynb', 'application/x-ipynb+json'),
]);
/** Extensions of binary formats. Plain text under such a name is a damaged file. */
const BINARY_NAMES: ReadonlySet<string> = new Set(
  (
    'pdf docx docm pptx pptm ppsx xlsx xlsm doc ppt xls odt ods odp epub hwp hwpx png jpg jpeg webp gif tif tiff bmp ' +
    'zip gz 7z'
  ).split(' '),
);
/** Recognised formats of text characters that have no readable text. */
const TEXTUAL_UNSUPPORTED: ReadonlySet<string> = new Set(['ps', 'eps', 'svg', 'pgp']);

const HTML_START = /^(?:\s|<!--[\s\S]*?-->|<\?xml[^>]*>)*<(?:!doctype\s+html|html[\s>])/i;
/** Root elements of HWPML and of OpenDocument as a single XML file, after declarations and comments. */
const XML_ROOT = /^(?:\s|<!--[\s\S]*?-->|<\?[^>]*>|<!DOCTYPE[^>[]*>)*<(office:document|HWPML)[\s>]/;
const JSON_START = /^\s*[[{"\-\dtfn]/;
const HWP_3 = 'HWP Document File V';

/**
 * Detect the format of a file by its first bytes. Its name and declared type only distinguish text formats.
 * @param file `head`: the first 4 KiB, or all of a shorter file
 * @param recognise names a known but unsupported type, for the message
 * @throws ExtractError `corrupt` for an empty file and for content that contradicts the name, `unsupported_type` for a
 *   recognised type or binary data that can't be read
 */
export async function detectFormat(
  file: { head: Uint8Array; fileName: string; contentType?: string | null },
  recognise: Recognise = async () => null,
): Promise<DetectedFormat> {
  const head = file.head.subarray(0, HEAD_BYTES);
  if (head.length === 0) throw new ExtractError('corrupt', 'the file is empty');
  const extension = extensionOf(file.fileName);
  const { type, charset } = parseContentType(file.contentType);
  const isNamedPdf = extension === 'pdf' || type === 'application/pdf';
  const signature = formatBySignature(head);
  if (signature !== null) return { format: signature, charset: null };

  const isText = looksLikeText(head);
  const known = await recognise(head);
  // Two-byte signatures ("BM", "MZ") also start English words, so clean text takes precedence.
  if (known !== null && (!isText || TEXTUAL_UNSUPPORTED.has(known.ext))) {
    throw unsupported(known.ext, `files of type ${known.mime} (.${known.ext}) are not supported`);
  }
  // PDF readers accept other bytes before the header. Any text may mention "%PDF-", so the name decides.
  if (isNamedPdf && startOf(head, 1024 + 5).includes('%PDF-')) return { format: 'pdf', charset: null };
  if (!isText) {
    if (isNamedPdf) throw new ExtractError('corrupt', 'the file is named as a PDF but its content is not a PDF');
    throw unsupported(extension, 'the file is binary data of an unknown type');
  }

  const start = decodeText(head).text;
  if (HTML_START.test(start)) return { format: 'html', charset };
  const root = XML_ROOT.exec(start)?.[1];
  if (root !== undefined) return { format: root === 'HWPML' ? 'hml' : 'fodf', charset: null };
  if (isNamedPdf || BINARY_NAMES.has(extension)) {
    throw new ExtractError('corrupt', `the file is named .${extension || 'pdf'} but holds plain text`);
  }
  const isNamedMail = /^(eml|mht|mhtml)$/.test(extension) || type === 'message/rfc822';
  if (looksLikeMail(start, isNamedMail)) return { format: 'eml', charset: null };
  const format = TEXT_NAMES.get(extension) ?? TEXT_TYPES.get(type) ?? 'txt';
  // A file that merely has a JSON name is still a text.
  const isOnlyNamed = (format === 'json' || format === 'jsonl' || format === 'ipynb') && !JSON_START.test(start);
  return { format: isOnlyNamed ? 'txt' : format, charset };
}

function unsupported(extension: string, otherwise: string): ExtractError {
  return new ExtractError('unsupported_type', refusalOf(extension) ?? otherwise);
}

function names(format: FileFormat, list: string): Array<[string, FileFormat]> {
  return list.split(' ').map((name) => [name, format]);
}

/** Detect a format by its signature. @throws ExtractError `unsupported_type` for Hancom documents before version 5 */
function formatBySignature(head: Uint8Array): FileFormat | null {
  const start = startOf(head, 32);
  if (start.startsWith('%PDF-')) return 'pdf';
  if (start.startsWith('PK\x03\x04') || start.startsWith('PK\x05\x06')) return 'zip';
  if (start.startsWith('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1')) return 'cfb';
  if (start.startsWith('{\\rtf')) return 'rtf';
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (start.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (/^GIF8[79]a/.test(start)) return 'gif';
  if (/^RIFF....WEBP/s.test(start)) return 'webp';
  if (start.startsWith('II*\0') || start.startsWith('MM\0*')) return 'tiff';
  if (start.startsWith(HWP_3)) {
    throw unsupported('hwp3', 'Hancom documents before version 5 are not supported');
  }
  return null;
}

/** Return the format of a picture file, or null for any other file. */
export function pictureFormatOf(file: Uint8Array): PictureFormat | null {
  const format = formatBySignature(file);
  return format !== null && isPictureFormat(format) ? format : null;
}

function startOf(head: Uint8Array, bytes: number): string {
  return Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, bytes)).toString('latin1');
}

/**
 * Return true if a text starts with the header fields of a mail (RFC 5322). Notes may also start with "From:" and
 * "Subject:", so unless the file is named as a mail, require fields that only programs write.
 */
function looksLikeMail(start: string, isNamed: boolean): boolean {
  const fields = new Set<string>();
  for (const [index, line] of start.split(/\r?\n/).entries()) {
    const field = /^([A-Za-z][A-Za-z0-9-]{0,60}):/.exec(line)?.[1];
    if (field !== undefined) fields.add(field.toLowerCase());
    else if (!/^[ \t]/.test(line) && !(index === 0 && line.startsWith('From '))) break;
  }
  const has = (list: string) => list.split(' ').some((field) => fields.has(field));
  if (isNamed) return has('from to subject date received mime-version content-type');
  return has('message-id mime-version received return-path') && has('from sender') && has('to cc subject date');
}

/**
 * Return true for text in any encoding: few bytes below 0x20 except blanks. Valid UTF-8, such as a log with NULs, may
 * have more, since longer binary data is never valid UTF-8.
 */
function looksLikeText(head: Uint8Array): boolean {
  const wide = byteOrderMark(head) ?? wideByPattern(head);
  if (/^utf-(?:16|32)/.test(wide ?? '')) {
    const { text } = decodeText(head);
    return controlCount(text.length, (i) => text.charCodeAt(i)) <= text.length * 0.02;
  }
  const control = controlCount(head.length, (i) => head[i] ?? 0);
  if (control === 0) return true;
  // The shifts of ISO-2022 are control characters.
  const isTolerant = isUtf8(head) || encodingByEscapes(head) !== null;
  return control <= head.length * (isTolerant ? 0.3 : 0.02);
}

/** Count control characters that don't occur in text among `length` code units. */
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
    // `stream` accepts a character that is cut off at the end.
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
