import { contradictedBy, guessEncoding } from './encoding/guess-encoding.ts';
import { looksKorean } from './encoding/korean.ts';
import { openDecoder } from './encoding/open-decoder.ts';

/** Text of a file, with the encoding it was decoded from (a label of `openDecoder`). */
export interface DecodedText {
  readonly text: string;
  readonly encoding: string;
}

const SAMPLE_CHARS = 1 << 20;
const ESCAPE_BYTES = 64 * 1024;
/** Number of non-ASCII characters from which valid UTF-8 is never another encoding by accident. */
const CERTAIN_CHARS = 4;
/** Invalid characters that disprove a UTF-8 mark, and bytes without NUL that disprove a UTF-16 mark. */
const BROKEN_MIN = 3;
const CERTAIN_BYTES = 16;
const SINGLE_BYTE = /^(?:windows-|iso-8859-|macintosh|koi8-|ibm|cp)/;
const ASCII = /ascii|ansi_x3/i;
/** Escape sequences of the 7-bit East Asian encodings. */
const ESCAPES: ReadonlyArray<readonly [RegExp, string]> = [
  // biome-ignore-start lint/suspicious/noControlCharactersInRegex: the escape character begins them
  [/\x1b\$[@B]/, 'iso-2022-jp'],
  [/\x1b\$\)C/, 'iso-2022-kr'],
  [/\x1b\$\)A/, 'iso-2022-cn'],
  // biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above
];

/**
 * Decode bytes to text. Use the first encoding that applies: byte order mark; valid UTF-8 with several non-ASCII
 * characters; UTF-16 and UTF-32 by their pattern of NULs; a 7-bit encoding by its escape sequences; `declared`, if it
 * decodes without errors; UTF-8 with a few bad bytes; or a guess. Never throw for bad bytes.
 * @param declared charset labels from elsewhere (a `<meta>`, a content type), in order; ignored if unknown
 */
export function decodeText(
  file: Uint8Array,
  declared: string | null | ReadonlyArray<string | null> = null,
): DecodedText {
  const bytes = withoutFalseMark(file);
  const marked = byteOrderMark(bytes);
  if (marked !== null) return decodeAs(bytes, marked);
  const utf8 = decodeValidUtf8(bytes);
  const labels = (Array.isArray(declared) ? declared : [declared]).filter((label) => label !== null);
  const certain = labels.length === 0 ? 1 : CERTAIN_CHARS;
  if (utf8 !== null && countKinds(utf8.text).foreign >= certain) return utf8;
  const wide = wideByPattern(bytes);
  if (wide !== null) return decodeAs(bytes, wide);
  const escapes = utf8 === null ? null : encodingByEscapes(bytes);
  if (escapes !== null) return decodeAs(bytes, escapes);
  for (const label of labels) {
    const fitting = decodeIfValid(bytes, label);
    if (fitting !== null) return fitting;
  }
  if (utf8 !== null) return utf8;

  const tolerant = decodeAs(bytes, 'utf-8');
  const { foreign, broken } = countKinds(tolerant.text);
  // A damaged file has a few bad bytes; text of another encoding has almost no valid ones.
  if ((broken - replacementCount(bytes)) * 50 <= foreign) return tolerant;
  return decodeAs(bytes, guessEncoding(bytes));
}

/**
 * Return the bytes without a byte order mark that they contradict: that of UTF-8 before another encoding, as written by
 * programs that add it to every table, or that of UTF-16 before UTF-8.
 */
export function withoutFalseMark(bytes: Uint8Array): Uint8Array {
  const marked = byteOrderMark(bytes);
  if (marked === 'utf-8') {
    const { foreign, broken } = countKinds(decodeAs(bytes.subarray(3, SAMPLE_CHARS), marked).text);
    return broken >= BROKEN_MIN && broken * 2 > foreign ? bytes.subarray(3) : bytes;
  }
  if (marked !== 'utf-16le' && marked !== 'utf-16be') return bytes;
  const rest = bytes.subarray(2, ESCAPE_BYTES);
  return rest.length >= CERTAIN_BYTES && !rest.includes(0) && isUtf8Start(rest) ? bytes.subarray(2) : bytes;
}

function isUtf8Start(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}

/** Return the encoding by the byte order mark of UTF-8, UTF-16 or UTF-32; null without one. */
export function byteOrderMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return bytes.length > 3 && !bytes[2] && !bytes[3] ? 'utf-32le' : 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return bytes[0] === 0 && bytes[1] === 0 && bytes[2] === 0xfe && bytes[3] === 0xff ? 'utf-32be' : null;
}

/**
 * Recognise UTF-32 by two NULs per four bytes, mostly Latin UTF-16 by a NUL in every other byte, and Korean UTF-16 by
 * its words, where only blanks and line ends have a NUL.
 */
export function wideByPattern(bytes: Uint8Array): string | null {
  const length = Math.min(bytes.length, 4096) & ~3;
  const nulls = [0, 0, 0, 0];
  for (let at = 0; at < length; at++) if (bytes[at] === 0) (nulls[at & 3] as number)++;
  const [first, second, third, fourth] = nulls.map((count) => count / (length / 4)) as [number, number, number, number];
  if (length >= 8 && first === 1 && second > 0.9 && fourth < 0.5) return 'utf-32be';
  if (length >= 8 && fourth === 1 && third > 0.9 && first < 0.5) return 'utf-32le';
  if (length < 4) return null;
  if (second + fourth > 0.6 && first + third < 0.1) return 'utf-16le';
  if (first + third > 0.6 && second + fourth < 0.1) return 'utf-16be';
  if (first + second + third + fourth === 0) return null;
  const start = bytes.subarray(0, length);
  return ['utf-16le', 'utf-16be'].find((label) => looksKorean(decodeAs(start, label).text)) ?? null;
}

/** Return the 7-bit encoding whose escape sequences the text contains, or null. */
export function encodingByEscapes(bytes: Uint8Array): string | null {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, ESCAPE_BYTES)).toString('latin1');
  return ESCAPES.find(([pattern]) => pattern.test(start))?.[1] ?? null;
}

function decodeAs(bytes: Uint8Array, encoding: string): DecodedText {
  const decoder = openDecoder(encoding);
  if (decoder === null) throw new Error(`there is no decoder for ${encoding}`);
  return { text: decoder.decode(bytes), encoding };
}

function decodeValidUtf8(bytes: Uint8Array): DecodedText | null {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(bytes), encoding: 'utf-8' };
  } catch {
    return null;
  }
}

function decodeIfValid(bytes: Uint8Array, label: string): DecodedText | null {
  const decoder = openDecoder(label);
  // A UTF-16 page can't declare its encoding in ASCII (HTML standard, "prescan").
  if (decoder === null || /^utf-(?:8|16|32)/.test(decoder.encoding)) return null;
  if (SINGLE_BYTE.test(decoder.encoding)) {
    // Almost every byte is valid in these encodings, so only the resulting characters reveal a wrong label.
    const korean = decodeAs(bytes, 'euc-kr');
    if (looksKorean(korean.text)) return korean;
    if (ASCII.test(label)) return null;
  }
  const other = contradictedBy(bytes, decoder.encoding);
  if (other !== null) return decodeAs(bytes, other);
  const text = decoder.decode(bytes);
  return text.includes('\ufffd') ? null : { text, encoding: decoder.encoding };
}

/** Count the characters U+FFFD that valid UTF-8 contains, which are not errors. */
function replacementCount(bytes: Uint8Array): number {
  const sample = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  let count = 0;
  for (let at = sample.indexOf('\ufffd'); at >= 0; at = sample.indexOf('\ufffd', at + 3)) count++;
  return count;
}

/** Count characters among the first million: non-ASCII ones, and the replacement characters among them. */
function countKinds(text: string): { foreign: number; broken: number } {
  let foreign = 0;
  let broken = 0;
  const end = Math.min(text.length, SAMPLE_CHARS);
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    foreign++;
    if (code === 0xfffd) broken++;
  }
  return { foreign, broken };
}
