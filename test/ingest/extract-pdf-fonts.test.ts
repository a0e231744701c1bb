import { deflateSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { addCharacterMaps } from '../../src/ingest/extract/pdf/add-character-maps.ts';
import { extractionSnapshot } from '../../src/ingest/job-store.ts';
import { type CmapFormat, makeCompactFont, makeFont, makeNumberedFont } from '../support/make-font.ts';
import { brief, readHere } from '../support/read-document.ts';
import { makeOnePagePdf, makeRawPdf, type PdfObject } from '../support/sample-files.ts';

const HELVETICA: PdfObject = { dict: '/Type/Font/Subtype/Type1/BaseFont/Helvetica' };
const stream = (content: string): PdfObject => ({ dict: '', stream: Buffer.from(content, 'latin1') });
const textOf = async (pdf: Uint8Array) =>
  (await readHere(pdf, 'a.pdf')).blocks.flatMap(({ text }) => text.split('\n')).join(' ');

describe('a font without a usable map to characters', () => {
  const CHARACTERS = 'Sevnhrotaysdb 등대기록한글!';
  const TEXT = '등대 기록 Seven herons today!';
  const codes = (text: string, characters = CHARACTERS) =>
    [...text].map((letter) => ([...characters].indexOf(letter) + 1).toString(16).padStart(4, '0')).join('');
  const objects = (font: Buffer, options: { map?: string; more?: string; mapStream?: string } = {}): PdfObject[] => [
    stream(`BT /F1 12 Tf 72 700 Td <${codes(TEXT)}> Tj ET`),
    {
      dict:
        '/Type/Font/Subtype/Type0/BaseFont/AAAAAA+Sample/Encoding/Identity-H/DescendantFonts[6 0 R]' +
        `${options.map ?? ''}`,
    },
    {
      dict:
        '/Type/Font/Subtype/CIDFontType2/BaseFont/AAAAAA+Sample/DW 600/FontDescriptor 7 0 R' +
        `/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>${options.more ?? '/CIDToGIDMap/Identity'}`,
    },
    {
      dict:
        '/Type/FontDescriptor/FontName/AAAAAA+Sample/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 900' +
        '/Descent -200/CapHeight 700/StemV 80/FontFile2 8 0 R',
    },
    { dict: '/Filter/FlateDecode', stream: deflateSync(font) },
    ...(options.mapStream === undefined ? [] : [stream(options.mapStream)]),
  ];
  const compact = (font: Buffer, subtype: string, descendant = 'CIDFontType0') =>
    objects(font, { more: '' }).map(({ dict, ...rest }, at) => ({
      ...rest,
      dict:
        at === 4
          ? `/Subtype/${subtype}${dict}`
          : dict.replace('CIDFontType2', descendant).replace('FontFile2', 'FontFile3'),
    }));
  const pdfOf = (parts: PdfObject[]) => {
    const [content, font, ...more] = parts as [PdfObject, PdfObject, ...PdfObject[]];
    return makeOnePagePdf(content, font, ...more);
  };

  test.each<[CmapFormat, readonly [number, number]]>([
    [4, [3, 1]],
    [12, [3, 10]],
    [4, [0, 3]],
  ])('is decoded by the table of its embedded font (format %i, encoding %j)', async (format, encoding) => {
    expect(await textOf(pdfOf(objects(makeFont(CHARACTERS, format, encoding))))).toBe(TEXT);
  });

  test('is decoded if the map is null, empty or gives every code the same character', async () => {
    const same = [1, 2, 3, 4, 5, 6, 7, 8].map((code) => `<000${code}> <0041>`).join('\n');
    for (const [map, mapStream] of [
      ['/ToUnicode null', undefined],
      ['/ToUnicode 9 0 R', 'begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange endcmap'],
      ['/ToUnicode 9 0 R', `begincmap 8 beginbfchar\n${same}\nendbfchar endcmap`],
    ] as const) {
      const options = mapStream === undefined ? { map } : { map, mapStream };
      expect(await textOf(pdfOf(objects(makeFont(CHARACTERS), options)))).toBe(TEXT);
    }
  });

  test('is decoded through a map from codes to glyphs', async () => {
    // Code n stands for glyph n + 1.
    const glyphs = Buffer.alloc(80);
    for (let code = 0; code < 40; code++) glyphs.writeUInt16BE(code, code * 2);
    const parts = objects(makeFont(CHARACTERS), { more: '/CIDToGIDMap 9 0 R' });
    const pdf = pdfOf([...parts, { dict: '', stream: glyphs }]);
    expect(await textOf(pdf)).toBe(TEXT);
  });

  test('is decoded where its dictionary is in an object stream', async () => {
    const [content, ...others] = objects(makeFont(CHARACTERS)) as [PdfObject, ...PdfObject[]];
    const plain: Array<[number, PdfObject]> = [
      [4, content],
      [8, others[3] as PdfObject],
    ];
    const packed: Array<[number, string]> = [
      [1, '<</Type/Catalog/Pages 2 0 R>>'],
      [2, '<</Type/Pages/Kids[3 0 R]/Count 1>>'],
      [3, '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>'],
      ...others.slice(0, 3).map(({ dict }, at): [number, string] => [5 + at, `<<${dict}>>`]),
    ];
    expect(await textOf(packedPdf(plain, packed))).toBe(TEXT);
  });

  test('is decoded by an embedded OpenType font, also if its codes are not its glyphs', async () => {
    const glyphs = [...CHARACTERS].map((_, at) => at + 1);
    const byGlyph = { 'CFF ': makeCompactFont(glyphs.map((glyph) => `g${glyph}`)) };
    const byCid = { 'CFF ': makeCompactFont(glyphs.toReversed(), { hasCids: true }) };
    expect(await textOf(pdfOf(compact(makeFont(CHARACTERS, 4, [3, 1], byGlyph), 'OpenType')))).toBe(TEXT);
    const reversed = [...CHARACTERS].toReversed().join('');
    expect(await textOf(pdfOf(compact(makeFont(reversed, 4, [3, 1], byCid), 'OpenType')))).toBe(TEXT);
    expect(await textOf(pdfOf(compact(makeFont(CHARACTERS), 'OpenType', 'CIDFontType2')))).toBe(TEXT);
  });

  test('is decoded by the names of the glyphs of a bare font in the Compact Font Format', async () => {
    const hex = (letter: string) => letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    const standard = (letter: string) => letter.charCodeAt(0) - 0x1f;
    const names = [...CHARACTERS].map((letter) => (letter < '\x7f' ? standard(letter) : `uni${hex(letter)}`));
    expect(await textOf(pdfOf(compact(makeCompactFont(names), 'CIDFontType0C')))).toBe(TEXT);
    const spelled = [...CHARACTERS].map((letter) => (/[a-z]/.test(letter) ? `${letter}.alt` : `u${hex(letter)}`));
    expect(await textOf(pdfOf(compact(makeCompactFont(spelled), 'CIDFontType0C')))).toBe(TEXT);
  });

  test('whose glyphs have only numbers makes its page a failed one', async () => {
    const glyphs = [...CHARACTERS].map((_, at) => at + 1);
    for (const font of [makeCompactFont(glyphs.map((at) => `g${at}`)), makeCompactFont(glyphs, { hasCids: true })])
      await expect(readHere(pdfOf(compact(font, 'CIDFontType0C')), 'a.pdf')).rejects.toMatchObject({
        message: expect.stringContaining('do not say which characters'),
      });
  });

  test('whose embedded font does not help either makes its page a failed one, with a warning', async () => {
    const hopeless = objects(makeFont(CHARACTERS, 4, null));
    await expect(readHere(pdfOf(hopeless), 'a.pdf')).rejects.toMatchObject({
      category: 'corrupt',
      message: expect.stringContaining('do not say which characters'),
    });
    const pages = makeRawPdf([
      { dict: '/Type/Catalog/Pages 2 0 R' },
      { dict: '/Type/Pages/Kids[3 0 R 9 0 R]/Count 2' },
      { dict: '/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>' },
      ...hopeless,
      { dict: '/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 10 0 R/Resources<</Font<</F1 11 0 R>>>>' },
      stream('BT /F1 12 Tf 72 700 Td (Known words) Tj ET'),
      HELVETICA,
    ]);
    const { blocks, ...found } = await readHere(pages, 'a.pdf');
    expect(brief(blocks)).toEqual(['paragraph@2: Known words']);
    expect(found).toMatchObject({ failedPages: [1], unmappedPages: [1] });
    const snapshot = extractionSnapshot({ ...found, recognisedPages: [], unsurePictures: [] });
    expect(snapshot).toMatchObject({ warnings: [expect.stringContaining('text of page 1 cannot be mapped')] });
  });
});

describe('a simple font whose codes are glyph numbers', () => {
  const TEXT = 'Seven grey herons wait beside it';
  const LETTERS = [...new Set(TEXT)];
  const bytes = [...TEXT].map((letter) => (0x21 + LETTERS.indexOf(letter)).toString(16)).join('');
  const pdfOf = (font: Buffer | null, more: string, content = bytes) =>
    makeOnePagePdf(
      stream(`BT /F1 12 Tf 72 700 Td <${content}> Tj ET`),
      { dict: `/Type/Font/BaseFont/AAAAAA+Sample/FontDescriptor 6 0 R${more}` },
      {
        dict:
          '/Type/FontDescriptor/FontName/AAAAAA+Sample/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 900' +
          `/Descent -200/CapHeight 700/StemV 80${font === null ? '' : '/FontFile2 7 0 R'}`,
      },
      ...(font === null ? [] : [{ dict: '/Filter/FlateDecode', stream: deflateSync(font) }]),
    );
  const unknown = { message: expect.stringContaining('do not say which characters') };

  test('is decoded by the names of its glyphs, else its page has failed', async () => {
    const names = LETTERS.map((letter) => `uni${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
    expect(await textOf(pdfOf(makeNumberedFont(LETTERS.length, names), '/Subtype/TrueType'))).toBe(TEXT);
    const nameless = pdfOf(makeNumberedFont(LETTERS.length, null), '/Subtype/TrueType');
    await expect(readHere(nameless, 'a.pdf')).rejects.toMatchObject(unknown);
  });

  test('by names such as g12 makes its page a failed one, and names that are their codes are characters', async () => {
    const differences = (name: (at: number) => string) =>
      `/Subtype/Type1/Encoding<</Differences[33 ${LETTERS.map((_, at) => name(at)).join('')}]>>`;
    const numbered = pdfOf(
      null,
      differences((at) => `/g${at + 1}`),
    );
    await expect(readHere(numbered, 'a.pdf')).rejects.toMatchObject(unknown);
    const ascii = Buffer.from('"#$%').toString('hex').repeat(4);
    const coded = pdfOf(
      null,
      differences((at) => `/c${at + 33}`),
      ascii,
    );
    expect(await textOf(coded)).toBe('"#$%'.repeat(4));
  });

  test('is not taken for one that has the letters of its text', async () => {
    const plain = makeFont(LETTERS.toSorted().join(''), 4, [3, 0]);
    const content = Buffer.from(TEXT).toString('hex');
    expect(await textOf(pdfOf(plain, '/Subtype/TrueType', content))).toBe(TEXT);
  });
});

test('unknown text beside known text is left out with a warning, and symbols alone are kept', async () => {
  const map = (ranges: string) => `begincmap 1 begincodespacerange <00> <ff> endcodespacerange ${ranges} endcmap`;
  const pdf = makeRawPdf([
    { dict: '/Type/Catalog/Pages 2 0 R' },
    { dict: '/Type/Pages/Kids[3 0 R]/Count 1' },
    { dict: '/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R/F2 6 0 R>>>>' },
    stream(
      `BT /F1 12 Tf 1 0 0 1 72 700 Tm (${'Known words of the page. '.repeat(4)}) Tj 1 0 0 1 72 660 Tm /F2 12 Tf (ABCDEFGHIJKLMNOP) Tj ` +
        '1 0 0 1 72 620 Tm (A) Tj /F1 12 Tf 1 0 0 1 90 620 Tm (an item) Tj ET',
    ),
    HELVETICA,
    { dict: '/Type/Font/Subtype/TrueType/BaseFont/Odd/ToUnicode 7 0 R' },
    stream(map('1 beginbfrange <41> <5a> <f041> endbfrange')),
  ]);
  const { blocks, ...found } = await readHere(pdf, 'a.pdf');
  const text = blocks.map((block) => block.text).join(' ');
  expect(text).toMatch(/^Known words of the page\..* \uf041 an item$/);
  expect(text).not.toContain('\uf042');
  expect(found).toMatchObject({ failedPages: [], unmappedPages: [1] });
});

test('an object that names the type of a font a hundred thousand times is looked at once', () => {
  const names = '/TrueType /FontFile '.repeat(100_000);
  for (const body of [`<<${names}>>\nendobj`, `<<>>\nstream\n${names}\nendstream\nendobj`, `<<>>\nstream\n${names}`]) {
    const pdf = Buffer.from(`%PDF-1.4\n4 0 obj\n${body}\ntrailer <</Root 1 0 R>>\nstartxref\n9\n%%EOF`);
    const began = performance.now();
    expect(addCharacterMaps(pdf) === pdf).toBe(true);
    // Looking at each of them takes minutes.
    expect(performance.now() - began).toBeLessThan(5_000);
  }
});

/** Make a PDF whose other objects are in an object stream, with a stream of cross-references. */
function packedPdf(
  plain: ReadonlyArray<readonly [number, PdfObject]>,
  packed: ReadonlyArray<readonly [number, string]>,
): Buffer {
  const HOLDER = 20;
  const XREF = 21;
  const parts = [Buffer.from('%PDF-1.7\n')];
  let length = 9;
  const rows = new Map<number, readonly [number, number, number]>([[0, [0, 0, 255]]]);
  const put = (number: number, dict: string, data: Uint8Array) => {
    rows.set(number, [1, length, 0]);
    const head = Buffer.from(`${number} 0 obj\n<<${dict}/Length ${data.length}>>\nstream\n`, 'latin1');
    const part = Buffer.concat([head, data, Buffer.from('\nendstream\nendobj\n')]);
    parts.push(part);
    length += part.length;
  };
  for (const [number, { dict, stream: data = new Uint8Array() }] of plain) put(number, dict, data);
  let offset = 0;
  const pairs = packed.map(([number, text], index) => {
    rows.set(number, [2, HOLDER, index]);
    const pair = `${number} ${offset}`;
    offset += text.length + 1;
    return pair;
  });
  const head = `${pairs.join(' ')}\n`;
  const body = deflateSync(Buffer.from(head + packed.map(([, text]) => text).join('\n'), 'latin1'));
  put(HOLDER, `/Type/ObjStm/N ${packed.length}/First ${head.length}/Filter/FlateDecode`, body);
  const start = length;
  rows.set(XREF, [1, start, 0]);
  const table = Buffer.alloc((XREF + 1) * 4);
  for (let number = 0; number <= XREF; number++) {
    const [type, middle, last] = rows.get(number) ?? [0, 0, 0];
    table.writeUInt8(type, number * 4);
    table.writeUInt16BE(middle, number * 4 + 1);
    table.writeUInt8(last, number * 4 + 3);
  }
  put(XREF, `/Type/XRef/Size ${XREF + 1}/W[1 2 1]/Root 1 0 R`, table);
  parts.push(Buffer.from(`startxref\n${start}\n%%EOF\n`));
  return Buffer.concat(parts);
}
