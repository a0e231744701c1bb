import { deflateSync } from 'node:zlib';
// @ts-expect-error pdfkit ships no types
import PDFDocument from 'pdfkit';

// Generators of documents of the supported formats, and of hostile ones.

export interface SamplePage {
  readonly heading?: string;
  readonly paragraphs?: readonly string[];
}

/** Return prose with a marker word that a test can search for. */
export function sampleParagraph(marker: string): string {
  return (
    `The ${marker} was tested in a wind tunnel at several angles of attack. Results show that the boundary layer ` +
    `remains laminar over most of the chord. Further measurements of the ${marker} were taken with hot wires.`
  );
}

/** Make a PDF with headings of 18 pt and text of 11 pt. A page without text shows only a picture. */
export function makePdf(
  pages: readonly SamplePage[],
  options: { userPassword?: string; ownerPassword?: string } = {},
): Promise<Buffer> {
  const document = new PDFDocument({ autoFirstPage: false, ...options });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<void>((resolve) => document.on('end', resolve));
  for (const page of pages) {
    document.addPage();
    if (page.heading !== undefined) document.fontSize(18).text(page.heading).moveDown();
    for (const paragraph of page.paragraphs ?? []) document.fontSize(11).text(paragraph).moveDown();
    if (page.heading === undefined && page.paragraphs === undefined) document.rect(72, 72, 300, 400).fill('gray');
  }
  document.end();
  return done.then(() => Buffer.concat(chunks));
}

export interface PdfObject {
  /** Content between `<<` and `>>`, without `/Length`. */
  readonly dict: string;
  readonly stream?: Uint8Array;
}

/**
 * Create a PDF from hand-written objects, numbered from 1, for content that no generator would write. The first one is
 * the catalog.
 */
export function makeRawPdf(objects: readonly PdfObject[]): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  const offsets: number[] = [];
  let length = parts[0]?.length ?? 0;
  const put = (part: Buffer) => {
    parts.push(part);
    length += part.length;
  };
  objects.forEach(({ dict, stream }, index) => {
    offsets.push(length);
    const size = stream === undefined ? '' : `/Length ${stream.length}`;
    put(Buffer.from(`${index + 1} 0 obj\n<<${dict}${size}>>\n`, 'latin1'));
    if (stream !== undefined) {
      put(Buffer.from('stream\n'));
      put(Buffer.from(stream));
      put(Buffer.from('\nendstream\n'));
    }
    put(Buffer.from('endobj\n'));
  });
  const xref = length;
  put(Buffer.from(`xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`));
  for (const offset of offsets) put(Buffer.from(`${String(offset).padStart(10, '0')} 00000 n \n`));
  put(Buffer.from(`trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${xref}\n%%EOF\n`));
  return Buffer.concat(parts);
}

/** Make a PDF of one page with the given content stream. Object 5 is the font `/F1`; further objects may follow. */
export function makeOnePagePdf(content: PdfObject, font: PdfObject, ...more: PdfObject[]): Buffer {
  return makeRawPdf([
    { dict: '/Type/Catalog/Pages 2 0 R' },
    { dict: '/Type/Pages/Kids[3 0 R]/Count 1' },
    { dict: '/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>' },
    content,
    font,
    ...more,
  ]);
}

const HELVETICA: PdfObject = { dict: '/Type/Font/Subtype/Type1/BaseFont/Helvetica' };

/** Make a small PDF whose content stream unpacks to `unpackedBytes` (three layers of DEFLATE). */
export function makeBombPdf(unpackedBytes: number): Buffer {
  const inner = deflateSync(Buffer.alloc(unpackedBytes, ' '), { level: 1 });
  const stream = deflateSync(deflateSync(inner, { level: 9 }), { level: 9 });
  return makeOnePagePdf({ dict: '/Filter[/FlateDecode/FlateDecode/FlateDecode]', stream }, HELVETICA);
}

/** Make a PDF of nested forms, each of which draws the next one twice: `2 ** depth` words of a few objects. */
export function makeNestedFormsPdf(depth: number): Buffer {
  const form = (index: number, content: string): PdfObject => ({
    dict:
      '/Type/XObject/Subtype/Form/BBox[0 0 612 792]' +
      `/Resources<</Font<</F1 3 0 R>>/XObject<</X ${index + 1} 0 R>>>>`,
    stream: Buffer.from(content),
  });
  const first = 5;
  return makeRawPdf([
    { dict: '/Type/Catalog/Pages 2 0 R' },
    { dict: '/Type/Pages/Kids[4 0 R]/Count 1' },
    HELVETICA,
    {
      dict: `/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${first} 0 R/Resources<</XObject<</X ${first + 1} 0 R>>>>`,
    },
    { dict: '', stream: Buffer.from('/X Do /X Do') },
    ...Array.from({ length: depth }, (_, level) => form(first + 1 + level, '/X Do /X Do')),
    form(first + 1 + depth, 'BT /F1 11 Tf 72 700 Td (word) Tj ET'),
  ]);
}

/** Make a PDF with lines of text at given positions, in the order of the content stream. */
export function makePlacedPdf(lines: ReadonlyArray<{ x: number; y: number; size: number; text: string }>): Buffer {
  const operators = lines.map(({ x, y, size, text }) => {
    const escaped = text.replace(/[\\()]/g, '\\$&');
    return `BT /F1 ${size} Tf 1 0 0 1 ${x} ${y} Tm (${escaped}) Tj ET`;
  });
  return makeOnePagePdf({ dict: '', stream: Buffer.from(operators.join('\n'), 'latin1') }, HELVETICA);
}

/** Make a PDF with a composite font without glyphs and a `ToUnicode` map, as office programs write it. */
export function makeUnicodePdf(lines: readonly string[]): Buffer {
  const characters = [...new Set(lines.join(''))];
  const codeOf = new Map(characters.map((character, index) => [character, hex16(index + 1)]));
  const operators = lines.map((line, index) => {
    const codes = Array.from(line, (character) => codeOf.get(character)).join('');
    return `BT /F1 11 Tf 1 0 0 1 72 ${700 - index * 16} Tm <${codes}> Tj ET`;
  });
  const ranges = characters.map((character) => `<${codeOf.get(character)}> <${hex16(character.charCodeAt(0))}>`);
  const toUnicode = [
    '/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def',
    '1 begincodespacerange <0000> <FFFF> endcodespacerange',
    // A section has at most 100 entries (Adobe Technical Note 5014).
    ...chunksOf(ranges, 100).map((part) => `${part.length} beginbfchar\n${part.join('\n')}\nendbfchar`),
    'endcmap end end',
  ].join('\n');
  return makeOnePagePdf(
    { dict: '', stream: Buffer.from(operators.join('\n'), 'latin1') },
    { dict: '/Type/Font/Subtype/Type0/BaseFont/Sample/Encoding/Identity-H/DescendantFonts[6 0 R]/ToUnicode 8 0 R' },
    {
      dict:
        '/Type/Font/Subtype/CIDFontType2/BaseFont/Sample/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>' +
        '/FontDescriptor 7 0 R/DW 1000',
    },
    {
      dict:
        '/Type/FontDescriptor/FontName/Sample/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 900/Descent -200' +
        '/CapHeight 700/StemV 80',
    },
    { dict: '', stream: Buffer.from(toUnicode, 'latin1') },
  );
}

/** Make a PDF with Korean text in a predefined encoding and a font that is not embedded, as old programs write it. */
export function makeKscPdf(cp949Hex: string): Buffer {
  return makeOnePagePdf(
    { dict: '', stream: Buffer.from(`BT /F1 11 Tf 1 0 0 1 72 700 Tm <${cp949Hex}> Tj ET`, 'latin1') },
    { dict: '/Type/Font/Subtype/Type0/BaseFont/HYSMyeongJo-Medium/Encoding/KSCms-UHC-H/DescendantFonts[6 0 R]' },
    {
      dict:
        '/Type/Font/Subtype/CIDFontType0/BaseFont/HYSMyeongJo-Medium/DW 1000/FontDescriptor 7 0 R' +
        '/CIDSystemInfo<</Registry(Adobe)/Ordering(Korea1)/Supplement 1>>',
    },
    {
      dict:
        '/Type/FontDescriptor/FontName/HYSMyeongJo-Medium/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/Ascent 900' +
        '/Descent -200/CapHeight 700/StemV 80',
    },
  );
}

/** Make a harmless zip archive of one stored file, recognised by its first bytes (PKWARE APPNOTE 4.3). */
export function makeZip(name: string, content: string): Buffer {
  const fileName = Buffer.from(name);
  const data = Buffer.from(content);
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(20, 4);
  header.writeUInt32LE(data.length, 18);
  header.writeUInt32LE(data.length, 22);
  header.writeUInt16LE(fileName.length, 26);
  return Buffer.concat([header, fileName, data]);
}

export function makeHtml(body: string, head = '<title>Sample page</title>'): Buffer {
  return Buffer.from(
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8">${head}</head>\n<body>${body}</body></html>`,
  );
}

export const SAMPLE_MARKDOWN = `---
title: Sample
---
# Handbook

Intro with *emphasis*, a [link](https://example.org/x) and \`code\`.
It goes on here.

## Tests

- first item
- second item
  - nested item

3. third step
4. fourth step

| Model | Score |
|-------|------:|
| alpha | 1 |
| beta | 2 |

\`\`\`js
const x = 1;

  indented();
\`\`\`

> A quoted line.
`;

function hex16(code: number): string {
  return code.toString(16).padStart(4, '0');
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const chunks: T[][] = [];
  for (let at = 0; at < items.length; at += size) chunks.push(items.slice(at, at + size));
  return chunks;
}
