/** WHATWG labels by Windows code page number. Text in other code pages is read as windows-1252. */
const CODE_PAGES: Readonly<Record<number, string>> = {
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gbk',
  949: 'euc-kr',
  950: 'big5',
  1250: 'windows-1250',
  1251: 'windows-1251',
  1252: 'windows-1252',
  1253: 'windows-1253',
  1254: 'windows-1254',
  1255: 'windows-1255',
  1256: 'windows-1256',
  1257: 'windows-1257',
  1258: 'windows-1258',
  10000: 'macintosh',
  20866: 'koi8-r',
  54936: 'gb18030',
  65001: 'utf-8',
};

/** Code pages by the number of a font's character set (`\fcharset`). 0 and 1 stand for that of the document. */
const CHARSETS: Readonly<Record<number, number>> = {
  77: 10000,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
};

const DEFAULT_LABEL = 'windows-1252';

export function labelOfCodePage(codePage: number): string {
  return CODE_PAGES[codePage] ?? DEFAULT_LABEL;
}

/** Return the WHATWG label of a character set; null for that of the document. */
export function labelOfCharset(charset: number): string | null {
  const codePage = CHARSETS[charset];
  return codePage === undefined ? null : labelOfCodePage(codePage);
}
