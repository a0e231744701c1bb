/** Build the tables of a TrueType font with empty glyphs. */
function tables(glyphs: number, cmap: Buffer): Record<string, Buffer> {
  const head = Buffer.alloc(54);
  head.writeUInt32BE(0x00010000, 0);
  head.writeUInt32BE(0x5f0f3cf5, 12);
  head.writeUInt16BE(1000, 18);
  head.writeInt16BE(1, 50);
  const hhea = Buffer.alloc(36);
  hhea.writeUInt32BE(0x00010000, 0);
  hhea.writeInt16BE(800, 4);
  hhea.writeInt16BE(-200, 6);
  hhea.writeUInt16BE(glyphs, 34);
  const maxp = Buffer.alloc(32);
  maxp.writeUInt32BE(0x00010000, 0);
  maxp.writeUInt16BE(glyphs, 4);
  const hmtx = Buffer.alloc(glyphs * 4);
  for (let glyph = 0; glyph < glyphs; glyph++) hmtx.writeUInt16BE(600, glyph * 4);
  return { cmap, glyf: Buffer.alloc(4), head, hhea, hmtx, loca: Buffer.alloc((glyphs + 1) * 4), maxp };
}

/** Form of the table of characters. */
export type CmapFormat = 4 | 6 | 12;

function subtable(format: CmapFormat, codes: ReadonlyArray<readonly [code: number, glyph: number]>): Buffer {
  const sorted = codes.toSorted((one, other) => one[0] - other[0]);
  const words = (...values: number[]) => {
    const bytes = Buffer.alloc(values.length * 2);
    for (const [at, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, at * 2);
    return bytes;
  };
  if (format === 12) {
    const bytes = Buffer.alloc(16 + sorted.length * 12);
    bytes.writeUInt16BE(12, 0);
    bytes.writeUInt32BE(bytes.length, 4);
    bytes.writeUInt32BE(sorted.length, 12);
    for (const [at, [code, glyph]] of sorted.entries()) {
      for (const [field, value] of [code, code, glyph].entries()) bytes.writeUInt32BE(value, 16 + at * 12 + field * 4);
    }
    return bytes;
  }
  if (format === 6) {
    const first = sorted[0]?.[0] ?? 0;
    const glyphs = Array.from({ length: (sorted.at(-1)?.[0] ?? 0) - first + 1 }, () => 0);
    for (const [code, glyph] of sorted) glyphs[code - first] = glyph;
    return words(6, 10 + glyphs.length * 2, 0, first, glyphs.length, ...glyphs);
  }
  const count = sorted.length + 1;
  const starts = [...sorted.map(([code]) => code), 0xffff];
  const deltas = [...sorted.map(([code, glyph]) => glyph - code), 1];
  const offsets = starts.map(() => 0);
  return words(4, 16 + count * 8, 0, count * 2, 0, 0, 0, ...starts, 0, ...starts, ...deltas, ...offsets);
}

/** Write an INDEX of the Compact Font Format. */
function index(items: readonly Buffer[]): Buffer {
  if (items.length === 0) return Buffer.alloc(2);
  const head = Buffer.alloc(3 + (items.length + 1) * 4);
  head.writeUInt16BE(items.length, 0);
  head.writeUInt8(4, 2);
  let offset = 1;
  for (const [at, item] of [...items, Buffer.alloc(0)].entries()) {
    head.writeUInt32BE(offset, 3 + at * 4);
    offset += item.length;
  }
  return Buffer.concat([head, ...items]);
}

/** Write numbers of five bytes and an operator of a dictionary of the Compact Font Format. */
function operation(operator: readonly number[], ...operands: number[]): Buffer {
  const numbers = operands.map((operand) => {
    const bytes = Buffer.alloc(5, 29);
    bytes.writeInt32BE(operand, 1);
    return bytes;
  });
  return Buffer.concat([...numbers, Buffer.from(operator)]);
}

/**
 * Make a font in the Compact Font Format with an empty glyph for each name or, in a font with CIDs, for each number. A
 * name may also be the number of a standard string.
 */
export function makeCompactFont(glyphs: ReadonlyArray<string | number>, { hasCids = false } = {}): Buffer {
  const STANDARD_STRINGS = 391;
  const named = hasCids ? ['Adobe', 'Identity'] : glyphs.filter((glyph) => typeof glyph === 'string');
  const strings = index(named.map((name) => Buffer.from(name as string, 'latin1')));
  const number = (glyph: string | number) =>
    typeof glyph === 'number' ? glyph : STANDARD_STRINGS + named.indexOf(glyph);
  const charset = Buffer.alloc(1 + glyphs.length * 2);
  for (const [at, glyph] of glyphs.entries()) charset.writeUInt16BE(number(glyph), 1 + at * 2);
  const programs = index(Array.from({ length: glyphs.length + 1 }, () => Buffer.from([14])));
  const top = (charsetAt: number, programsAt: number) =>
    index([
      Buffer.concat([
        ...(hasCids ? [operation([12, 30], STANDARD_STRINGS, STANDARD_STRINGS + 1, 0)] : []),
        operation([15], charsetAt),
        operation([17], programsAt),
        operation([18], 0, programsAt + programs.length),
      ]),
    ]);
  const head = Buffer.concat([Buffer.from([1, 0, 4, 4]), index([Buffer.from('Sample')])]);
  const start = head.length + top(0, 0).length + strings.length + 2;
  const offsets = [start, start + charset.length] as const;
  return Buffer.concat([head, top(...offsets), strings, index([]), charset, programs]);
}

/** Write a `post` table whose names are all spelled. */
function postTable(names: readonly string[]): Buffer {
  const head = Buffer.alloc(34 + (names.length + 1) * 2);
  head.writeUInt32BE(0x00020000, 0);
  head.writeUInt16BE(names.length + 1, 32);
  for (const at of names.keys()) head.writeUInt16BE(258 + at, 36 + at * 2);
  return Buffer.concat([head, ...names.map((name) => Buffer.from(`${String.fromCharCode(name.length)}${name}`))]);
}

/**
 * Make a TrueType font that numbers the glyphs of a text from `!` on, as a program does that embeds a part of a font.
 * @param names names of the glyphs, in the order of the characters
 */
export function makeNumberedFont(count: number, names: readonly string[] | null): Buffer {
  const numbered = Array.from({ length: count }, (_, at) => String.fromCharCode(0x21 + at)).join('');
  return makeFont(numbered, 4, [3, 0], names === null ? {} : { post: postTable(names) });
}

/**
 * Make a TrueType font whose glyphs, from 1 on, stand for the characters of a text in their order.
 * @param encoding platform and encoding of the table of characters; without it the font has no such table
 * @param more further tables by name
 */
export function makeFont(
  characters: string,
  format: CmapFormat = 4,
  encoding: readonly [number, number] | null = [3, 1],
  more: Record<string, Buffer> = {},
): Buffer {
  const codes = [...characters].map((character, index) => [character.codePointAt(0) as number, index + 1] as const);
  const header = Buffer.from([0, 0, 0, 1, 0, encoding?.[0] ?? 0, 0, encoding?.[1] ?? 0, 0, 0, 0, 12]);
  const all = { ...tables(codes.length + 1, Buffer.concat([header, subtable(format, codes)])), ...more };
  const entries = Object.entries(all).filter(([name]) => encoding !== null || name !== 'cmap');
  const directory = Buffer.alloc(12 + entries.length * 16);
  directory.writeUInt32BE(0x00010000, 0);
  directory.writeUInt16BE(entries.length, 4);
  let offset = directory.length;
  const parts: Buffer[] = [directory];
  for (const [index, [name, data]] of entries.entries()) {
    directory.write(name, 12 + index * 16, 'latin1');
    directory.writeUInt32BE(offset, 20 + index * 16);
    directory.writeUInt32BE(data.length, 24 + index * 16);
    const padded = Buffer.concat([data, Buffer.alloc((4 - (data.length % 4)) % 4)]);
    parts.push(padded);
    offset += padded.length;
  }
  return Buffer.concat(parts);
}
