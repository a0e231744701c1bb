import { charactersByName, glyphsByByte } from './font-cmap.ts';
import { descriptorOf, programOf } from './font-program.ts';
import { entryOf, type PdfObjects } from './pdf-objects.ts';

/** Codes of a simple font that are glyph numbers, and the characters of those known to the embedded font. */
export interface SimpleFontMap {
  readonly codes: readonly number[];
  readonly characters: ReadonlyMap<number, number>;
}

/** Minimum number of codes whose order is no accident. */
const NUMBERED_MIN = 8;
/** Bounds of numbered codes: they start at or before `!`, and text codes end at `z` or later. */
const FIRST_MAX = 0x21;
const LAST_MIN = 0x7a;
/** Names that end with a number but denote a character (Adobe Glyph List). */
const KNOWN_NUMBERED = /^(?:afii|SF|H|uni|u|a)[0-9A-F]+$/;

/**
 * Determine whether the one-byte codes of a simple font are glyph numbers, which must not be mistaken for characters:
 * glyph names such as `g12`, or a symbolic TrueType font that numbers its glyphs without gaps. Return null for other
 * fonts.
 */
export function simpleFontMap(font: string, objects: PdfObjects): SimpleFontMap | null {
  const encoding = objects.resolve(font, '/Encoding')?.text ?? '';
  const numbered = numberedNames(encoding);
  if (numbered !== null) return { codes: numbered, characters: new Map() };
  if (encoding !== '' || entryOf(font, '/Subtype') !== '/TrueType') return null;
  const program = programOf(descriptorOf(font, objects), objects);
  if (program === null) return null;
  const glyphs = glyphsByByte(program);
  const codes = [...glyphs.keys()].toSorted((one, other) => one - other);
  if (!areNumbers(codes, glyphs)) return null;
  const names = charactersByName(program);
  const characters = new Map<number, number>();
  for (const code of codes) {
    const character = names.get(glyphs.get(code) as number);
    if (character !== undefined) characters.set(code, character);
  }
  return { codes, characters };
}

/** Return the codes whose glyph names are mere numbers, other than their own; null unless these are the majority. */
function numberedNames(encoding: string): number[] | null {
  const differences = entryOf(encoding, '/Differences') ?? '';
  const codes: number[] = [];
  let names = 0;
  let code = 0;
  for (const token of differences.match(/\/[^\s/[\]]+|\d+/g) ?? []) {
    if (!token.startsWith('/')) {
      code = Number(token);
      continue;
    }
    const name = token.slice(1);
    const number = /^[A-Za-z_]{1,5}(\d+)$/.exec(name)?.[1];
    if (name !== '.notdef') names++;
    if (number !== undefined && Number(number) !== code && !KNOWN_NUMBERED.test(name)) codes.push(code);
    code++;
  }
  return codes.length >= NUMBERED_MIN && codes.length * 2 > names ? codes : null;
}

/** Return true if codes and glyphs increase together from the first visible character, and end within text. */
function areNumbers(codes: readonly number[], glyphs: ReadonlyMap<number, number>): boolean {
  const [first = 0] = codes;
  const last = codes.at(-1) ?? 0;
  if (codes.length < NUMBERED_MIN || first > FIRST_MAX || last >= LAST_MIN) return false;
  const distance = (glyphs.get(first) as number) - first;
  return codes.every((code, at) => code === first + at && glyphs.get(code) === code + distance);
}
