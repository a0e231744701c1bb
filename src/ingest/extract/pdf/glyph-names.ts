/**
 * Characters of the Compact Font Format's standard strings 1 to 228, which are glyph names in the order of its appendix
 * A (Adobe technical note 5176).
 */
const STANDARD =
  ' !"#$%&’()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_‘abcdefghijklmnopqrstuvwxyz{|}~¡¢£⁄¥ƒ§¤\'“«‹›ﬁﬂ–†‡·¶•' +
  '‚„”»…‰¿`´ˆ˜¯˘˙¨˚¸˝˛ˇ—ÆªŁØŒºæıłøœß¹¬µ™Ð½±Þ¼÷¦°þ¾²®−ð×³©ÁÂÄÀÅÃÇÉÊËÈÍÎÏÌÑÓÔÖÒÕŠÚÛÜÙÝŸŽáâäàåãçéêëèíîïìñóôöòõšúûüùýÿž';
const STANDARD_CHARACTERS = [...STANDARD];
/** Number of the space in Macintosh order. Names follow the bytes of Mac OS Roman from 0x20, except 0x7f. */
const SPACE = 3;
const FIRST_BEYOND_ASCII = 98;
const MORE = 'ŁłŠšŽž¦ÐðÝýÞþ−×¹²³½¼¾₣ĞğİŞşĆćČčđ';
const MORE_FIRST = 226;

/** Return the character of a standard string of the Compact Font Format by number; null if it has none here. */
export function characterOfStandardString(number: number): number | null {
  return STANDARD_CHARACTERS[number - 1]?.codePointAt(0) ?? null;
}

/** Return the character of a name by its number in Macintosh order; null for any other number. */
export function characterOfMacintosh(number: number): number | null {
  if (number >= MORE_FIRST) return MORE.codePointAt(number - MORE_FIRST) ?? null;
  if (number < SPACE) return null;
  const byte = number < FIRST_BEYOND_ASCII ? number - SPACE + 0x20 : number - FIRST_BEYOND_ASCII + 0x80;
  return new TextDecoder('macintosh').decode(Uint8Array.of(byte)).codePointAt(0) ?? null;
}

/**
 * Return the character that a glyph name itself denotes, such as `A`, `uniAC00`, `u1F600` or `A.alt` (Adobe Glyph List
 * Specification); null for any other name.
 */
export function characterOfName(name: string): number | null {
  const base = name.replace(/(?<=.)\..*$/, '');
  if (/^[A-Za-z]$/.test(base)) return base.charCodeAt(0);
  const hex = /^uni([0-9A-F]{4})$/.exec(base)?.[1] ?? /^u([0-9A-F]{4,6})$/.exec(base)?.[1];
  const code = hex === undefined ? 0 : Number.parseInt(hex, 16);
  return code >= 0x20 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? code : null;
}
