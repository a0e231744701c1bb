import { isOutOfMemory } from '../errors.ts';
import { readCompactFont } from './compact-font.ts';
import { charactersByGlyph, fontTable } from './font-cmap.ts';
import { descriptorOf, programOf } from './font-program.ts';
import { entryOf, PdfObjects } from './pdf-objects.ts';
import { type SimpleFontMap, simpleFontMap } from './simple-fonts.ts';

/** Character collections whose codes pdf.js knows. */
const KNOWN_COLLECTION = /\/Ordering\s*\((?:Korea1|KR|Japan1|GB1|CNS1)\)/;
/** Number of the first added object, higher than in any file. */
const FIRST_NUMBER = 8_000_000;
const FONTS_MAX = 1_000;
/** Maximum number of codes with the same character in a plausible map. */
const SAME_TARGETS_MAX = 3;
const CODES = 0x10000;
const PRIVATE_FIRST = 0xe000;
const PRIVATE_SIZE = 0x1900;
const ENTRIES_PER_BLOCK = 100;

/**
 * Add a `ToUnicode` map to every font without one whose codes are glyph numbers: the embedded font tells which
 * characters its glyphs represent. Glyphs without a character get one from the private use area, so that their number
 * isn't mistaken for a character. The maps are appended as an update of the file (PDF 32000-1, 7.5.6). Return a file
 * without such fonts, or an encrypted one, unchanged.
 */
export function addCharacterMaps(file: Uint8Array): Uint8Array {
  try {
    return updated(file);
  } catch (error) {
    // pdf.js reports what is wrong with a damaged file.
    if (isOutOfMemory(String(error))) throw error;
    return file;
  }
}

function updated(file: Uint8Array): Uint8Array {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (!['/FontFile', '/Differences', '/ObjStm'].some((key) => bytes.includes(key))) return file;
  if (bytes.includes('/Encrypt')) return file;
  const objects = new PdfObjects(file);
  const fonts = unmappedFonts(objects);
  const trailer = objects.trailer();
  if (fonts.length === 0 || trailer === null) return file;
  const parts: Buffer[] = [bytes, Buffer.from('\n')];
  let length = bytes.length + 1;
  const entries: string[] = [];
  const add = (number: number, content: string) => {
    entries.push(`${number} 1\n${String(length).padStart(10, '0')} 00000 n \n`);
    const part = Buffer.from(`${number} 0 obj\n${content}\nendobj\n`, 'latin1');
    parts.push(part);
    length += part.length;
  };
  for (const [index, { number, text, map }] of fonts.slice(0, FONTS_MAX).entries()) {
    add(FIRST_NUMBER + index, `<< /Length ${map.length} >>\nstream\n${map}\nendstream`);
    const own = text.replace(/\/ToUnicode\s*(?:null|\d+\s+\d+\s+R)/, '');
    add(number, `${own.slice(0, own.lastIndexOf('>>'))} /ToUnicode ${FIRST_NUMBER + index} 0 R >>`);
  }
  const { root, previous } = trailer;
  const end = `xref\n${entries.join('')}trailer\n<< /Size ${FIRST_NUMBER + fonts.length} /Root ${root} /Prev ${previous} >>\n`;
  parts.push(Buffer.from(`${end}startxref\n${length}\n%%EOF\n`, 'latin1'));
  return Uint8Array.from(Buffer.concat(parts));
}

/** Find the fonts whose codes are glyph numbers, with the map for each. */
function unmappedFonts(objects: PdfObjects): Array<{ number: number; text: string; map: string }> {
  const composite = objects
    .containing('/Type0')
    .filter(({ text }) => isUnmapped(text, objects))
    .map(({ number, text }) => ({ number, text, map: characterMap(charactersOf(text, objects)) }));
  const simple = ['/TrueType', '/Type1', '/MMType1'].flatMap((type) =>
    objects.containing(type).flatMap(({ number, text }) => {
      const map = hasUsableMap(text, objects) ? null : simpleFontMap(text, objects);
      return map === null ? [] : [{ number, text, map: byteMap(map) }];
    }),
  );
  return [...composite, ...simple];
}

function isUnmapped(font: string, objects: PdfObjects): boolean {
  if (!/^\/Identity-[HV]/.test(entryOf(font, '/Encoding') ?? '')) return false;
  const descendant = descendantOf(font, objects);
  if (descendant === null) return false;
  const system = objects.resolve(descendant, '/CIDSystemInfo')?.text ?? '';
  if (KNOWN_COLLECTION.test(system) || KNOWN_COLLECTION.test(descendant)) return false;
  return !hasUsableMap(font, objects);
}

function hasUsableMap(font: string, objects: PdfObjects): boolean {
  const map = objects.resolve(font, '/ToUnicode');
  return map !== null && isUsable(objects.stream(map)?.toString('latin1') ?? '');
}

/** Return true for a map to different characters, rather than to a single one or none. */
function isUsable(map: string): boolean {
  const blocksOfKind = (kind: string) => map.match(new RegExp(`beginbf${kind}[\\s\\S]*?endbf`, 'g'))?.join(' ') ?? '';
  const ranges = blocksOfKind('range');
  const hexOf = (text: string) => text.match(/<[0-9a-f]+>/gi) ?? [];
  // A range maps to consecutive characters or a list of them.
  if (ranges.includes('[') || hexOf(ranges).some((code, at, all) => at % 3 === 1 && code !== all[at - 1])) return true;
  const targets = [
    ...hexOf(ranges).filter((_, at) => at % 3 === 2),
    ...hexOf(blocksOfKind('char')).filter((_, at) => at % 2 === 1),
  ].map((code) => code.toLowerCase());
  return targets.length > 0 && (targets.length <= SAME_TARGETS_MAX || new Set(targets).size > 1);
}

function descendantOf(font: string, objects: PdfObjects): string | null {
  const list = objects.resolve(font, '/DescendantFonts')?.text ?? '';
  const number = /^\[?\s*(\d+)\s+\d+\s+R/.exec(list)?.[1];
  return number === undefined ? null : (objects.get(Number(number))?.text ?? null);
}

/** Return the characters by code; empty if the font doesn't tell. */
function charactersOf(font: string, objects: PdfObjects): ReadonlyMap<number, number> {
  const descendant = descendantOf(font, objects) ?? '';
  const program = programOf(descriptorOf(descendant, objects), objects);
  if (program === null) return new Map();
  if (!isSfnt(program)) return charactersOfCompact(program, null);
  const byGlyph = charactersByGlyph(program);
  const compact = fontTable(program, 'CFF ');
  if (compact !== null) return charactersOfCompact(compact, byGlyph);
  const mapObject = objects.resolve(descendant, '/CIDToGIDMap');
  const glyphs = mapObject === null ? null : objects.stream(mapObject);
  if (glyphs === null) return byGlyph;
  const byCode = new Map<number, number>();
  for (let code = 0; code * 2 + 1 < glyphs.length; code++) {
    const character = byGlyph.get(glyphs.readUInt16BE(code * 2));
    if (character !== undefined) byCode.set(code, character);
  }
  return byCode;
}

/** Return true for a TrueType or OpenType font program, which starts with its version or `OTTO`. */
function isSfnt(program: Buffer): boolean {
  return ['\0\x01\0\0', 'OTTO', 'true'].includes(program.toString('latin1', 0, 4));
}

/**
 * Return the characters by code of a Compact Font Format font, from a character table or its glyph names. Codes are
 * CIDs, or glyphs if the font has none (PDF 32000-1, 9.7.4.2).
 */
function charactersOfCompact(font: Buffer, byGlyph: ReadonlyMap<number, number> | null): ReadonlyMap<number, number> {
  const compact = readCompactFont(font);
  const characters = byGlyph !== null && byGlyph.size > 0 ? byGlyph : (compact?.characters ?? new Map());
  if (compact?.hasCids !== true) return characters;
  const byCode = new Map<number, number>();
  for (const [glyph, cid] of compact.charset.entries()) {
    const character = characters.get(glyph);
    if (character !== undefined) byCode.set(cid, character);
  }
  return byCode;
}

/** Write a simple font's `ToUnicode` map: the codes that are glyph numbers, and the known characters. */
function byteMap({ codes, characters }: SimpleFontMap): string {
  const target = (code: number) => characters.get(code) ?? PRIVATE_FIRST + code;
  const lines = codes.map((code) => `<${hexOf(code, 2)}> <${utf16(target(code))}>`);
  return cmapOf('<00> <ff>', blocksOf(lines).map(charactersBlock));
}

/** Write a `ToUnicode` map (PDF 32000-1, 9.10.3). Codes without a character map to the private use area. */
function characterMap(characters: ReadonlyMap<number, number>): string {
  const hex = (value: number) => hexOf(value, 4);
  const ranges: string[] = [];
  for (let from = 0; from < CODES; from += PRIVATE_SIZE) {
    for (let at = from; at < Math.min(from + PRIVATE_SIZE, CODES); at += 0x100)
      ranges.push(`<${hex(at)}> <${hex(at + 0xff)}> <${hex(PRIVATE_FIRST + at - from)}>`);
  }
  const single = [...characters].map(([code, character]) => `<${hex(code)}> <${utf16(character)}>`);
  return cmapOf('<0000> <ffff>', [
    ...blocksOf(ranges).map((lines) => `${lines.length} beginbfrange\n${lines.join('\n')}\nendbfrange`),
    ...blocksOf(single).map(charactersBlock),
  ]);
}

function charactersBlock(lines: readonly string[]): string {
  return `${lines.length} beginbfchar\n${lines.join('\n')}\nendbfchar`;
}

function cmapOf(codespace: string, blocks: readonly string[]): string {
  return [
    '/CIDInit /ProcSet findresource begin 12 dict begin begincmap',
    `1 begincodespacerange ${codespace} endcodespacerange`,
    ...blocks,
    'endcmap end end',
  ].join('\n');
}

function hexOf(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

function utf16(character: number): string {
  return Buffer.from(String.fromCodePoint(character), 'utf16le').swap16().toString('hex');
}

function blocksOf(lines: readonly string[]): string[][] {
  const blocks: string[][] = [];
  for (let at = 0; at < lines.length; at += ENTRIES_PER_BLOCK) blocks.push(lines.slice(at, at + ENTRIES_PER_BLOCK));
  return blocks;
}
