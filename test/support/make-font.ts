/** Tables of a TrueType font of empty glyphs. */
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

/**
 * Make a TrueType font whose glyphs, from 1 on, stand for the characters of a text in their order.
 * @param encoding platform and encoding of the table of characters; without it the font has no such table
 */
export function makeFont(
  characters: string,
  format: CmapFormat = 4,
  encoding: readonly [number, number] | null = [3, 1],
): Buffer {
  const codes = [...characters].map((character, index) => [character.codePointAt(0) as number, index + 1] as const);
  const header = Buffer.from([0, 0, 0, 1, 0, encoding?.[0] ?? 0, 0, encoding?.[1] ?? 0, 0, 0, 0, 12]);
  const all = tables(codes.length + 1, Buffer.concat([header, subtable(format, codes)]));
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
