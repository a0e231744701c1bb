/** Text of a file and the encoding that it was read as (WHATWG label). */
export interface DecodedText {
  readonly text: string;
  readonly encoding: string;
}

const SAMPLE_CHARS = 1 << 20;

/**
 * Bytes to text. In this order: byte order mark, `declared` (if it fits without an error), UTF-16 by its pattern of
 * NULs, UTF-8 (a few bad bytes are tolerated), EUC-KR (as CP949) if that gives Korean, else windows-1252, which
 * fits everything. Never throws for bad bytes.
 *
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

  const utf8 = decodeAs(bytes, 'utf-8');
  const utf8Counts = countKinds(utf8.text);
  // A cut or patched file has a few bad bytes; text of another encoding has hardly a good one.
  if (utf8Counts.broken * 50 <= utf8Counts.foreign) return utf8;

  const korean = decodeAs(bytes, 'euc-kr');
  const koreanCounts = countKinds(korean.text);
  if (koreanCounts.broken * 50 <= koreanCounts.foreign && koreanCounts.hangul * 2 >= koreanCounts.foreign)
    return korean;
  return decodeAs(bytes, 'windows-1252');
}

/** `utf-8`, `utf-16le`, `utf-16be` or null. */
export function byteOrderMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  return null;
}

/** UTF-16 of mostly Latin text has a NUL in every other byte; no other encoding has. */
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
    // A page that really were UTF-16 could not have said so in ASCII (HTML standard, "prescan").
    if (decoder.encoding.startsWith('utf-16')) return null;
    return { text: decoder.decode(bytes), encoding: decoder.encoding };
  } catch {
    return null; // An unknown label, or bytes that it does not fit.
  }
}

/** Counts over the first million characters: those beyond ASCII, and among them Hangul and replaced ones. */
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
