import { analyse } from 'chardet';

/** Text of a file and the encoding by which it was decoded (WHATWG label). */
export interface DecodedText {
  readonly text: string;
  readonly encoding: string;
}

const SAMPLE_CHARS = 1 << 20;
const GUESS_BYTES = 64 * 1024;
/**
 * Encodings that statistics recognise reliably, with the minimum confidence (of 100). Statistics cannot distinguish
 * the encodings of Western and Central Europe, so these are read as windows-1252.
 */
const GUESSES: ReadonlyMap<string, number> = new Map([
  ['Shift_JIS', 60],
  ['EUC-JP', 60],
  ['GB18030', 60],
  ['Big5', 60],
  ['windows-1251', 30],
  ['KOI8-R', 30],
]);
const SINGLE_BYTE: ReadonlySet<string> = new Set(['windows-1251', 'KOI8-R']);
const CHINESE: ReadonlySet<string> = new Set(['gb18030', 'big5']);
/** Escape sequences of ISO-2022-JP, the only Japanese encoding without a byte beyond ASCII. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins them
const ISO_2022_JP = /\x1b\$[@B]|\x1b\([BJ]/;

/**
 * Decode bytes to text. The first encoding that applies is used: that of the byte order mark, `declared` (if it decodes
 * without an error), UTF-16 by its pattern of NULs, ISO-2022-JP by its escape sequences, UTF-8 (a few bad bytes are
 * tolerated), EUC-KR (as CP949) if that yields Korean, another encoding of East Asia or of Russian by statistics,
 * windows-1252. Never throws for bad bytes.
 * @param declared a charset label from elsewhere (a `<meta>`, a content type); unknown labels are ignored
 */
export function decodeText(bytes: Uint8Array, declared: string | null = null): DecodedText {
  const marked = byteOrderMark(bytes);
  if (marked !== null) return decodeAs(bytes, marked);
  if (declared !== null) {
    const fitting = decodeIfValid(bytes, declared);
    if (fitting !== null) return fitting;
  }
  const wide = utf16ByPattern(bytes);
  if (wide !== null) return decodeAs(bytes, wide);
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, GUESS_BYTES));
  if (ISO_2022_JP.test(start.toString('latin1'))) return decodeAs(bytes, 'iso-2022-jp');

  const utf8 = decodeAs(bytes, 'utf-8');
  const utf8Counts = countKinds(utf8.text);
  // A damaged file has a few bad bytes; text of another encoding has almost no valid ones.
  if (utf8Counts.broken * 50 <= utf8Counts.foreign) return utf8;

  const guess = guessEncoding(start);
  const korean = decodeAs(bytes, 'euc-kr');
  const koreanCounts = countKinds(korean.text);
  const isKorean = koreanCounts.broken * 50 <= koreanCounts.foreign && koreanCounts.hangul * 2 >= koreanCounts.foreign;
  // Simplified Chinese decodes as Korean too, with syllables that do not occur in Korean.
  if (isKorean && !(guess?.isSure && CHINESE.has(guess.encoding))) return korean;
  return decodeAs(bytes, guess?.encoding ?? 'windows-1252');
}

/** Guess the encoding by statistics; null if none is likely enough. */
function guessEncoding(start: Uint8Array): { encoding: string; isSure: boolean } | null {
  let letters = 0;
  let foreign = 0;
  for (const byte of start) {
    if (byte >= 0x80) foreign++;
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) letters++;
  }
  const guesses = analyse(start);
  const koreanConfidence = guesses.find(({ name }) => name === 'EUC-KR')?.confidence ?? 0;
  const known = guesses.filter(({ name }) => GUESSES.has(name));
  const sure = known.find(({ name, confidence }) => confidence >= (GUESSES.get(name) as number));
  if (sure !== undefined) {
    return { encoding: sure.name.toLowerCase(), isSure: sure.confidence > koreanConfidence };
  }
  // Accented letters are rare. If most letters are beyond ASCII, a short text of another script is more likely:
  // preferably one in a two-byte encoding.
  if (foreign < letters) return null;
  const likely = known.find(({ name }) => !SINGLE_BYTE.has(name)) ?? known[0];
  return likely === undefined ? null : { encoding: likely.name.toLowerCase(), isSure: false };
}

/** Return the encoding by the byte order mark: `utf-8`, `utf-16le`, `utf-16be` or null. */
export function byteOrderMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return null;
}

/** Recognise UTF-16 of mostly Latin text: only there is every other byte a NUL. */
export function utf16ByPattern(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  const pairs = Math.min(bytes.length, 4096) >> 1;
  if (pairs < 2) return null;
  let even = 0;
  let odd = 0;
  for (let i = 0; i < pairs * 2; i += 2) {
    if (bytes[i] === 0) even++;
    if (bytes[i + 1] === 0) odd++;
  }
  if (odd > pairs * 0.3 && even < pairs * 0.05) return 'utf-16le';
  if (even > pairs * 0.3 && odd < pairs * 0.05) return 'utf-16be';
  return null;
}

function decodeAs(bytes: Uint8Array, encoding: string): DecodedText {
  return { text: new TextDecoder(encoding).decode(bytes), encoding };
}

function decodeIfValid(bytes: Uint8Array, label: string): DecodedText | null {
  try {
    const decoder = new TextDecoder(label, { fatal: true });
    // A page in UTF-16 cannot declare it in ASCII (HTML standard, "prescan").
    if (decoder.encoding.startsWith('utf-16')) return null;
    return { text: decoder.decode(bytes), encoding: decoder.encoding };
  } catch {
    return null; // The label is unknown or the bytes are invalid in that encoding.
  }
}

/** Count characters among the first million: those beyond ASCII, and their Hangul and replacement characters. */
function countKinds(text: string): { foreign: number; hangul: number; broken: number } {
  let foreign = 0;
  let hangul = 0;
  let broken = 0;
  const end = Math.min(text.length, SAMPLE_CHARS);
  for (let i = 0; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    foreign++;
    if (code === 0xfffd) broken++;
    else if (code >= 0xac00 && code <= 0xd7a3) hangul++;
  }
  return { foreign, hangul, broken };
}
