import path from 'node:path';

/** Media types of files that a crawl keeps in addition to pages. */
const FILES = new Set([
  'application/pdf',
  'application/rtf',
  'application/msword',
  'application/epub+zip',
  'application/x-hwp',
  'application/haansofthwp',
  'application/hwp+zip',
  'application/x-ipynb+json',
  'text/plain',
  'text/markdown',
  'text/csv',
  'text/tab-separated-values',
  'text/rtf',
]);
/** Prefixes of office media types. */
const OFFICE =
  /^application\/(?:vnd\.(?:openxmlformats-officedocument|oasis\.opendocument|ms-(?:word|excel|powerpoint)|hancom)\b)/;
/** Uninformative media types, for which the file extension decides. */
const UNKNOWN = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/force-download',
  'application/download',
]);
const FILE_NAME =
  /\.(?:pdf|docx?|docm|pptx?|pptm|ppsx|xlsx?|xlsm|od[tsp]|rtf|epub|hwpx?|md|markdown|txt|csv|tsv|ipynb)$/i;

/** Kind of a response: a page with links, another document, or not a document. */
export type PageKind = 'page' | 'file' | 'other';

export interface ContentType {
  readonly kind: PageKind;
  readonly charset: string | null;
}

/** Parse a `Content-Type` header. */
export function readContentType(header: string | null, url: URL): ContentType {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim());
  const name = type.toLowerCase();
  const charset =
    parameters.map((each) => /^charset\s*=\s*"?([\w.:-]{1,40})"?$/i.exec(each)?.[1]).find(Boolean) ?? null;
  if (name === 'text/html' || name === 'application/xhtml+xml') return { kind: 'page', charset };
  const isFile = FILES.has(name) || OFFICE.test(name) || (UNKNOWN.has(name) && FILE_NAME.test(url.pathname));
  return { kind: isFile ? 'file' : 'other', charset };
}

/** File extensions of non-documents, which are not requested. */
const OTHER_NAMES = new Set(
  (
    '.png .jpg .jpeg .gif .webp .avif .svg .ico .bmp .tif .tiff .mp3 .mp4 .m4a .m4v .mov .avi .webm .mkv .wav .ogg .flac ' +
    '.zip .gz .tgz .bz2 .xz .7z .rar .tar .exe .msi .dmg .pkg .deb .rpm .apk .iso .css .js .mjs .map .woff .woff2 .ttf ' +
    '.otf .eot .wasm .rss .atom .xml .json'
  ).split(' '),
);

/** Return true for an address whose extension is that of a non-document. */
export function isOtherFile(url: URL): boolean {
  return OTHER_NAMES.has(path.posix.extname(url.pathname).toLowerCase());
}
