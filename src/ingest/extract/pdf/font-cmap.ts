import { characterOfMacintosh, characterOfName } from './glyph-names.ts';

const PRIVATE_FIRST = 0xe000;
const PRIVATE_LAST = 0xf8ff;
/** Start of the characters of symbol fonts, in the order of their bytes. */
const SYMBOL = 0xf000;
const GLYPHS_MAX = 65_536;
const POST_WITH_NAMES = 0x00020000;
/** Number of names that a `post` table doesn't spell out, in Macintosh order. */
const MACINTOSH_NAMES = 258;

/**
 * Read which characters the glyphs of a TrueType or OpenType font represent, from its `cmap` table (ISO/IEC 14496-22),
 * or else from its glyph names. A glyph for several characters keeps the first. The map is empty if the font has
 * neither.
 */
export function charactersByGlyph(font: Buffer): Map<number, number> {
  const glyphs = new Map<number, number>();
  readAsFarAsPossible(() => {
    const table = cmapTable(font);
    if (table !== null) for (const [code, glyph] of codesOf(table)) addCharacter(glyphs, code, glyph);
  });
  return glyphs.size > 0 ? glyphs : charactersByName(font);
}

/** Read the glyph of each byte in a symbolic TrueType font's table; empty without such a table. */
export function glyphsByByte(font: Buffer): Map<number, number> {
  const glyphs = new Map<number, number>();
  readAsFarAsPossible(() => {
    const table = cmapTable(font, (platform, encoding) => (encoding === 0 ? (platform === 3 ? 2 : platform) : 0));
    for (const [code, glyph] of table === null ? [] : codesOf(table)) {
      const byte = code >= SYMBOL ? code - SYMBOL : code;
      if (glyph !== 0 && byte <= 0xff) glyphs.set(byte, glyph);
    }
  });
  return glyphs;
}

/** Return a table of a TrueType or OpenType font, or null if there is none of that name. */
export function fontTable(font: Buffer, name: string): Buffer | null {
  const tables = font.readUInt16BE(4);
  for (let at = 0; at < tables; at++) {
    const entry = 12 + at * 16;
    if (font.toString('latin1', entry, entry + 4) === name) return font.subarray(font.readUInt32BE(entry + 8));
  }
  return null;
}

/** Read the characters from the glyph names in the `post` table. */
export function charactersByName(font: Buffer): Map<number, number> {
  const characters = new Map<number, number>();
  readAsFarAsPossible(() => {
    const post = fontTable(font, 'post');
    if (post === null || post.readUInt32BE(0) !== POST_WITH_NAMES) return;
    const count = post.readUInt16BE(32);
    const names: string[] = [];
    for (let at = 34 + count * 2; at < post.length && names.length < count; at += 1 + post.readUInt8(at))
      names.push(post.toString('latin1', at + 1, at + 1 + post.readUInt8(at)));
    for (let glyph = 1; glyph < count; glyph++) {
      const number = post.readUInt16BE(34 + glyph * 2);
      const own = number < MACINTOSH_NAMES ? null : (names[number - MACINTOSH_NAMES] ?? '');
      const character = own === null ? characterOfMacintosh(number) : characterOfName(own);
      if (character !== null) characters.set(glyph, character);
    }
  });
  return characters;
}

function readAsFarAsPossible(read: () => void): void {
  try {
    read();
  } catch (error) {
    // The table is truncated. Keep what has been read.
    if (!(error instanceof RangeError)) throw error;
  }
}

function addCharacter(glyphs: Map<number, number>, code: number, glyph: number): void {
  const isPrivate = code >= PRIVATE_FIRST && code <= PRIVATE_LAST;
  const character = isPrivate && code >= SYMBOL && code - SYMBOL >= 0x20 && code - SYMBOL < 0x7f ? code - SYMBOL : code;
  if (glyph === 0 || character < 0x20 || (isPrivate && character === code)) return;
  if (!glyphs.has(glyph)) glyphs.set(glyph, character);
}

/** Find the highest-ranking subtable: full Unicode, then the basic plane, then symbols. */
function cmapTable(font: Buffer, rank: (platform: number, encoding: number) => number = rankOf): Buffer | null {
  const cmap = fontTable(font, 'cmap');
  if (cmap === null) return null;
  const subtables = Array.from({ length: cmap.readUInt16BE(2) }, (_, index) => {
    const platform = cmap.readUInt16BE(4 + index * 8);
    const encoding = cmap.readUInt16BE(6 + index * 8);
    return { rank: rank(platform, encoding), offset: cmap.readUInt32BE(8 + index * 8) };
  });
  const best = subtables.filter((own) => own.rank > 0).toSorted((one, other) => other.rank - one.rank)[0];
  return best === undefined ? null : cmap.subarray(best.offset);
}

function rankOf(platform: number, encoding: number): number {
  if (platform === 3) return encoding === 10 ? 4 : encoding === 1 ? 3 : encoding === 0 ? 1 : 0;
  return platform === 0 && encoding !== 5 ? 2 : 0;
}

/** Yield codes and glyphs of a subtable in format 0, 4, 6 or 12; these tables don't use other formats. */
function* codesOf(table: Buffer): Generator<[code: number, glyph: number]> {
  const format = table.readUInt16BE(0);
  if (format === 4) yield* segments(table);
  else if (format === 0) for (let code = 0; code < 256; code++) yield [code, table.readUInt8(6 + code)];
  else if (format === 6) {
    const first = table.readUInt16BE(6);
    for (let at = 0; at < table.readUInt16BE(8); at++) yield [first + at, table.readUInt16BE(10 + at * 2)];
  } else if (format === 12) {
    let count = 0;
    for (let at = 16; at < 16 + table.readUInt32BE(12) * 12; at += 12) {
      const first = table.readUInt32BE(at);
      const last = Math.min(table.readUInt32BE(at + 4), 0x10ffff);
      const glyph = table.readUInt32BE(at + 8);
      for (let code = first; code <= last && ++count <= GLYPHS_MAX * 4; code++) yield [code, glyph + code - first];
    }
  }
}

function* segments(table: Buffer): Generator<[code: number, glyph: number]> {
  const size = table.readUInt16BE(6);
  const [ends, starts, deltas, offsets] = [14, 16 + size, 16 + size * 2, 16 + size * 3];
  for (let at = 0; at < size; at += 2) {
    const first = table.readUInt16BE(starts + at);
    const last = table.readUInt16BE(ends + at);
    const delta = table.readUInt16BE(deltas + at);
    const offset = table.readUInt16BE(offsets + at);
    for (let code = first; code <= last && code < 0xffff; code++) {
      if (offset === 0) {
        yield [code, (code + delta) & 0xffff];
        continue;
      }
      const glyph = table.readUInt16BE(offsets + at + offset + (code - first) * 2);
      if (glyph !== 0) yield [code, (glyph + delta) & 0xffff];
    }
  }
}
