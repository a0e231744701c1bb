import { codePageCharacters } from './table-files.ts';

/** Labels by code page number of Windows, DOS or Mac OS. */
const CODE_PAGES: Readonly<Record<number, string>> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  943: 'shift_jis',
  949: 'euc-kr',
  950: 'big5',
  951: 'big5',
  1200: 'utf-16le',
  1201: 'utf-16be',
  1361: 'johab',
  10000: 'macintosh',
  10001: 'shift_jis',
  10002: 'big5',
  10003: 'euc-kr',
  10007: 'x-mac-cyrillic',
  10008: 'gbk',
  12000: 'utf-32le',
  12001: 'utf-32be',
  20127: 'utf-8',
  20866: 'koi8-r',
  20932: 'euc-jp',
  20936: 'gbk',
  20949: 'euc-kr',
  21866: 'koi8-u',
  50220: 'iso-2022-jp',
  50221: 'iso-2022-jp',
  50222: 'iso-2022-jp',
  50225: 'iso-2022-kr',
  51932: 'euc-jp',
  51936: 'gbk',
  51949: 'euc-kr',
  52936: 'hz-gb-2312',
  54936: 'gb18030',
  65001: 'utf-8',
};

/** Return the label of a code page, or null for an unknown number. */
export function labelOfCodePage(codePage: number): string | null {
  const label = CODE_PAGES[codePage];
  if (label !== undefined) return label;
  if (codePage >= 1250 && codePage <= 1258) return `windows-${codePage}`;
  if (codePage >= 28591 && codePage <= 28606) return `iso-8859-${codePage - 28590}`;
  return codePageCharacters(codePage) === null ? null : `cp${codePage}`;
}

/** Decoder for a single-byte code page. */
export class CodePageDecoder {
  readonly encoding: string;
  readonly #characters: string;

  constructor(encoding: string, characters: string) {
    this.encoding = encoding;
    this.#characters = characters;
  }

  decode(bytes: Uint8Array = new Uint8Array()): string {
    const units = new Uint16Array(bytes.length);
    for (const [at, byte] of bytes.entries()) units[at] = byte < 0x80 ? byte : this.#characters.charCodeAt(byte - 0x80);
    return Buffer.from(units.buffer).toString('utf16le');
  }
}
