import { characterOfName, characterOfStandardString } from './glyph-names.ts';

/** Glyphs of a Compact Font Format font. */
export interface CompactFont {
  /** True if glyphs have CIDs, numbers in a character collection, instead of names. */
  readonly hasCids: boolean;
  /** CID, or name number, by glyph. */
  readonly charset: readonly number[];
  /** Character by glyph, as far as derived from names. */
  readonly characters: ReadonlyMap<number, number>;
}

const OPERATOR_CHARSET = 15;
const OPERATOR_GLYPHS = 17;
const OPERATOR_ROS = 0x0c00 + 30;
const STANDARD_STRINGS = 391;
/** Predefined charset that gives each glyph its own number. The others contain no letters of text. */
const CHARSET_ISO_ADOBE = 0;
const PREDEFINED_MAX = 2;

/** Read the names or CIDs of the glyphs (Adobe technical note 5176). Return null if the font is unreadable. */
export function readCompactFont(font: Buffer): CompactFont | null {
  try {
    const names = indexAt(font, font.readUInt8(2));
    const tops = indexAt(font, names.end);
    const strings = indexAt(font, tops.end);
    const top = operandsOf(tops.items[0] ?? Buffer.alloc(0));
    const glyphs = font.readUInt16BE(top.get(OPERATOR_GLYPHS) ?? font.length);
    const charset = charsetOf(font, top.get(OPERATOR_CHARSET) ?? CHARSET_ISO_ADOBE, glyphs);
    const characters = new Map<number, number>();
    const hasCids = top.has(OPERATOR_ROS);
    for (const [glyph, name] of hasCids ? [] : charset.entries()) {
      const own = strings.items[name - STANDARD_STRINGS];
      const character = own === undefined ? characterOfStandardString(name) : characterOfName(own.toString('latin1'));
      if (glyph > 0 && character !== null) characters.set(glyph, character);
    }
    return { hasCids, charset, characters };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return null;
  }
}

function indexAt(font: Buffer, at: number): { items: Buffer[]; end: number } {
  const count = font.readUInt16BE(at);
  if (count === 0) return { items: [], end: at + 2 };
  const size = font.readUInt8(at + 2);
  const base = at + 2 + (count + 1) * size;
  const offset = (nth: number) => base + font.readUIntBE(at + 3 + nth * size, size);
  const items = Array.from({ length: count }, (_, nth) => font.subarray(offset(nth), offset(nth + 1)));
  return { items, end: offset(count) };
}

/** Return the last operand of each operator in a dictionary. Two-byte operators are 0x0c00 and up. */
function operandsOf(dictionary: Buffer): Map<number, number> {
  const found = new Map<number, number>();
  let operand = 0;
  for (let at = 0; at < dictionary.length; ) {
    const byte = dictionary.readUInt8(at++);
    if (byte <= 21) {
      found.set(byte === 12 ? 0x0c00 + dictionary.readUInt8(at++) : byte, operand);
    } else if (byte === 28) {
      operand = dictionary.readInt16BE(at);
      at += 2;
    } else if (byte === 29) {
      operand = dictionary.readInt32BE(at);
      at += 4;
    } else if (byte === 30) {
      // A real number ends with the nibble 0xf.
      while ((dictionary.readUInt8(at) & 0x0f) !== 0x0f && dictionary.readUInt8(at) >> 4 !== 0x0f) at++;
      at++;
    } else if (byte <= 246) operand = byte - 139;
    else if (byte <= 250) operand = (byte - 247) * 256 + dictionary.readUInt8(at++) + 108;
    else operand = -(byte - 251) * 256 - dictionary.readUInt8(at++) - 108;
  }
  return found;
}

function charsetOf(font: Buffer, offset: number, glyphs: number): number[] {
  if (offset <= PREDEFINED_MAX)
    return offset === CHARSET_ISO_ADOBE ? Array.from({ length: glyphs }, (_, at) => at) : [];
  const format = font.readUInt8(offset);
  const charset = [0];
  for (let at = offset + 1; charset.length < glyphs; ) {
    const first = font.readUInt16BE(at);
    const more = format === 0 ? 0 : format === 1 ? font.readUInt8(at + 2) : font.readUInt16BE(at + 2);
    at += format === 0 ? 2 : format === 1 ? 3 : 4;
    for (let nth = 0; nth <= more && charset.length < glyphs; nth++) charset.push(first + nth);
  }
  return charset;
}
