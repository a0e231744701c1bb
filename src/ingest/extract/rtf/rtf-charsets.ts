import { labelOfCodePage } from '../encoding/code-pages.ts';

/** Code pages by a font's character set number (`\fcharset`). 0 and 1 mean that of the document. */
const CHARSETS: Readonly<Record<number, number>> = {
  77: 10000,
  78: 10001,
  79: 10003,
  80: 10008,
  81: 10002,
  128: 932,
  129: 949,
  130: 1361,
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
  254: 437,
  255: 850,
};

/** Return the label of a character set; null for that of the document. */
export function labelOfCharset(charset: number): string | null {
  const codePage = CHARSETS[charset];
  return codePage === undefined ? null : labelOfCodePage(codePage);
}
