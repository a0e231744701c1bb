import { describe, expect, test } from 'vitest';
import { brief, readHere } from '../support/read-document.ts';
import { makeOnePagePdf, makeRawPdf, type PdfObject } from '../support/sample-files.ts';

const HELVETICA: PdfObject = { dict: '/Type/Font/Subtype/Type1/BaseFont/Helvetica' };
const stream = (content: string): PdfObject => ({ dict: '', stream: Buffer.from(content, 'latin1') });
const page = (content: string) => makeOnePagePdf(stream(content), HELVETICA);
const linesOf = async (pdf: Uint8Array) =>
  (await readHere(pdf, 'a.pdf')).blocks.flatMap(({ text }) => text.split('\n'));
const textOf = async (pdf: Uint8Array) => (await linesOf(pdf)).join(' ');

describe('letter-spaced text is words', () => {
  const spaced = (operators: string) => page(`BT /F1 12 Tf 1 0 0 1 72 700 Tm ${operators} ET`);

  test.each([1.8, 2.4, 4, 6, 7.2, 9, 12])('by character spacing of %f points at a size of 12', async (spacing) => {
    const pdf = spaced(`${spacing} Tc (HARBOUR LIGHTS) Tj 0 -20 Td (of the north) Tj`);
    expect(await textOf(pdf)).toBe('HARBOUR LIGHTS of the north');
  });

  test('in Hangul of two syllables a word', async () => {
    const utf16 = Buffer.from('등대 점검 안내', 'utf16le').swap16().toString('hex');
    const pdf = makeOnePagePdf(
      stream(`BT /F1 12 Tf 2.4 Tc 72 700 Td <${utf16}> Tj ET`),
      { dict: '/Type/Font/Subtype/Type0/BaseFont/Sample/Encoding/Identity-H/DescendantFonts[6 0 R]/ToUnicode 8 0 R' },
      {
        dict:
          '/Type/Font/Subtype/CIDFontType2/BaseFont/Sample/DW 1000/FontDescriptor 7 0 R' +
          '/CIDSystemInfo<</Registry(Adobe)/Ordering(Identity)/Supplement 0>>',
      },
      { dict: '/Type/FontDescriptor/FontName/Sample/Flags 4/FontBBox[0 -200 1000 900]/ItalicAngle 0/StemV 80' },
      stream(
        'begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange <0000> <ffff> <0000> endbfrange endcmap',
      ),
    );
    expect(await textOf(pdf)).toBe('등대 점검 안내');
  });

  test('by moves inside of a text, and by a position for each letter', async () => {
    const kerned = Array.from('QUAY WALL', (letter) => `(${letter}) -220`).join(' ');
    expect(await textOf(spaced(`[${kerned}] TJ`))).toBe('QUAY WALL');
    const placed = Array.from('Ferry', (letter, at) => `1 0 0 1 ${72 + at * 17} 700 Tm (${letter}) Tj`).join(' ');
    expect(await textOf(spaced(placed))).toBe('Ferry');
  });

  test('with symbols among its letters', async () => {
    expect(await textOf(spaced('2.5 Tc (Tel. +82 51 123-4567) Tj'))).toBe('Tel. +82 51 123-4567');
    expect(await textOf(spaced('4 Tc (Fee = $40) Tj'))).toBe('Fee = $40');
  });

  test('and letters that are written with blanks, single digits and cells of a table stay as they are', async () => {
    expect(await textOf(spaced('(A B C D E) Tj'))).toBe('A B C D E');
    const cells = ['1', '2', '3', '4', '5'].map((text, at) => `1 0 0 1 ${72 + at * 40} 700 Tm (${text}) Tj`).join(' ');
    expect(await textOf(spaced(cells))).toMatch(/^1 ?2 ?3 ?4 ?5$/);
    expect(await textOf(spaced(cells))).not.toContain('12');
    expect(await textOf(spaced('(Plan B is a go) Tj'))).toBe('Plan B is a go');
  });
});

describe('text that is drawn again to look bold is kept once', () => {
  const draw = (text: string, x: number, y: number) => `1 0 0 1 ${x} ${y} Tm (${text}) Tj`;

  test('as a line, two to four times', async () => {
    for (const times of [2, 3, 4]) {
      const copies = Array.from({ length: times }, (_, at) =>
        draw('The harbour report', 72 + at * 0.3, 700 - at * 0.1),
      );
      expect(await textOf(page(`BT /F1 12 Tf ${copies.join(' ')} ${draw('Next line', 72, 680)} ET`))).toBe(
        'The harbour report Next line',
      );
    }
  });

  test('letter by letter, with double letters kept', async () => {
    const advance = 7.2;
    const twice = Array.from('BOOKKEEPER', (letter, at) => {
      const x = 72 + at * advance;
      return `${draw(letter, x, 700)} ${draw(letter, x + 0.4, 700)}`;
    });
    const font: PdfObject = { dict: '/Type/Font/Subtype/Type1/BaseFont/Courier' };
    const pdf = makeOnePagePdf(stream(`BT /F1 12 Tf ${twice.join(' ')} ET`), font);
    expect(await textOf(pdf)).toBe('BOOKKEEPER');
  });

  test('and equal texts at different places are kept', async () => {
    const rows = [0, 1, 2].map((at) => `${draw('yes', 72, 700 - at * 14)} ${draw('yes', 150, 700 - at * 14)}`);
    expect((await textOf(page(`BT /F1 12 Tf ${rows.join(' ')} ET`))).match(/yes/g)).toHaveLength(6);
    expect(await textOf(page('BT /F1 11 Tf 72 700 Td (Mississippi, 1100, aaaa) Tj ET'))).toBe(
      'Mississippi, 1100, aaaa',
    );
  });
});

describe('values of forms and typed text are text', () => {
  const form = (annotations: readonly string[], content: string) =>
    makeRawPdf([
      {
        dict: `/Type/Catalog/Pages 2 0 R/AcroForm<</Fields[${annotations.map((_, at) => `${6 + at} 0 R`).join(' ')}]>>`,
      },
      { dict: '/Type/Pages/Kids[3 0 R]/Count 1' },
      {
        dict:
          '/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>' +
          `/Annots[${annotations.map((_, at) => `${6 + at} 0 R`).join(' ')}]`,
      },
      stream(content),
      HELVETICA,
      ...annotations.map((dict) => ({ dict: `/Type/Annot${dict}` })),
    ]);
  const field = (type: string, rect: string, more: string) => `/Subtype/Widget/FT/${type}/T(f)/Rect[${rect}]${more}`;
  const LABELS =
    'BT /F1 11 Tf 1 0 0 1 72 700 Tm (Name:) Tj 1 0 0 1 72 660 Tm (Branch:) Tj 1 0 0 1 72 620 Tm (Note:) Tj ET';

  test('behind their labels, without appearance streams', async () => {
    const pdf = form(
      [
        field('Tx', '160 695 400 715', '/V(Mirae Kim)/F 4'),
        field('Ch', '160 655 400 675', '/V(n)/Opt[[(n)(Northern branch)][(s)(Southern)]]/F 4'),
        field('Tx', '160 560 400 635', '/Ff 4096/V(first line\\rsecond line)/F 4'),
      ],
      LABELS,
    );
    const lines = await textOf(pdf);
    expect(lines).toContain('Name: Mirae Kim');
    expect(lines).toContain('Branch: Northern branch');
    expect(lines).toContain('first line second line');
    expect(lines).not.toContain('Southern');
  });

  test('with Korean text, chosen buttons and typed notes, and without hidden values and passwords', async () => {
    const utf16 = Buffer.from('\ufeff홍길동', 'utf16le').swap16().toString('hex');
    const pdf = form(
      [
        field('Tx', '160 695 400 715', `/V<${utf16}>/F 4`),
        field('Btn', '160 655 170 665', '/Ff 49152/V/express/AS/express/AP<</N<</express null/Off null>>>>/F 4'),
        '/Subtype/FreeText/Rect[300 500 500 520]/Contents(typed onto the page)/DA(/F1 10 Tf)/F 4',
        field('Tx', '160 595 400 615', '/V(hidden value)/F 2'),
        field('Tx', '160 555 400 575', '/V(secret)/Ff 8192/F 4'),
        '/Subtype/Text/Rect[10 10 20 20]/Contents(a comment)',
      ],
      LABELS,
    );
    const text = await textOf(pdf);
    expect(text).toContain('Name: 홍길동');
    expect(text).toContain('express');
    expect(text).toContain('typed onto the page');
    expect(text).not.toMatch(/hidden value|secret|a comment/);
  });

  test('once for a group of radio buttons, beside the chosen one', async () => {
    const states = (value: string) => `/AS/Off/AP<</N<</${value} null/Off null>>>>/F 4`;
    const radio = (value: string, y: number) =>
      field(
        'Btn',
        `160 ${y} 170 ${y + 10}`,
        `/Ff 49152/V/express${states(value).replace('/AS/Off', `/AS/${value === 'express' ? value : 'Off'}`)}`,
      );
    const lines = await linesOf(form([radio('express', 700), radio('normal', 660), radio('slow', 620)], LABELS));
    expect(lines).toContain('Name: express');
    expect(lines.join(' ').match(/express|normal|slow/g)).toEqual(['express']);
  });

  test('once, if the page draws the value as well', async () => {
    const drawn = `${LABELS} BT /F1 11 Tf 1 0 0 1 162 700 Tm (Mirae Kim) Tj ET`;
    const text = await textOf(form([field('Tx', '160 695 400 715', '/V(Mirae Kim)/F 4')], drawn));
    expect(text.match(/Mirae Kim/g)).toHaveLength(1);
  });
});

describe('rotated pages', () => {
  const ROWS = [
    ['Harbour', 'Depth', 'Ships'],
    ['North', '12 m', '41'],
    ['South', '9 m', '17'],
  ];
  const cells = (matrix: (x: number, y: number) => string) =>
    ROWS.flatMap((row, line) =>
      row.map((text, column) => `${matrix(72 + column * 120, 500 - line * 20)} Tm (${text}) Tj`),
    );

  test.each<[number, (x: number, y: number) => string]>([
    [0, (x, y) => `1 0 0 1 ${x} ${y}`],
    [90, (x, y) => `0 1 -1 0 ${600 - y} ${x}`],
    [180, (x, y) => `-1 0 0 -1 ${600 - x} ${780 - y}`],
    [270, (x, y) => `0 -1 1 0 ${y} ${780 - x}`],
  ])('keep the rows of their tables: text at %i degrees', async (_, matrix) => {
    const text = await textOf(page(`BT /F1 11 Tf ${cells(matrix).join(' ')} ET`));
    expect(text.replace(/\s+/g, ' ')).toBe('Harbour Depth Ships North 12 m 41 South 9 m 17');
  });
});

describe('a word that a line end divides is one word', () => {
  const at = (x: number, y: number, text: string) => `1 0 0 1 ${x} ${y} Tm (${text}) Tj`;

  test('within a paragraph, across a wide gap and across columns', async () => {
    const gap = `${at(72, 700, 'The light-')} ${at(72, 660, 'house keeper waits.')}`;
    expect(await textOf(page(`BT /F1 11 Tf ${gap} ET`))).toBe('The lighthouse keeper waits.');
    const left = Array.from({ length: 6 }, (_, line) => at(72, 700 - line * 13, 'Words of the left column here.'));
    const right = Array.from({ length: 6 }, (_, line) => at(330, 687 - line * 13, 'Words of the right column here.'));
    const columns = [...left, at(72, 622, 'The meas-'), at(330, 700, 'urement ended.'), ...right];
    expect(await textOf(page(`BT /F1 11 Tf ${columns.join(' ')} ET`))).toContain('The measurement ended.');
  });

  test.each([
    ['open for a 24-', 'hour service', 'open for a 24-hour service'],
    ['the x-', 'ray room', 'the x-ray room'],
    ['of pre-', 'and post-war years', 'of pre- and post-war years'],
    ['see Busan-', 'Incheon', 'see Busan-Incheon'],
    ['a temperature of 5 -', 'and no wind', 'a temperature of 5 - and no wind'],
    ['the docu-', 'ments', 'the documents'],
  ])('but not one whose hyphen belongs to it: "%s" before "%s"', async (first, second, whole) => {
    expect(await textOf(page(`BT /F1 11 Tf ${at(72, 700, first)} ${at(72, 687, second)} ET`))).toBe(whole);
  });

  test('across pages, where the word stays on its first page', async () => {
    const pageOf = (content: number) => ({
      dict: `/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${content} 0 R/Resources<</Font<</F1 7 0 R>>>>`,
    });
    const pdf = makeRawPdf([
      { dict: '/Type/Catalog/Pages 2 0 R' },
      { dict: '/Type/Pages/Kids[3 0 R 4 0 R]/Count 2' },
      pageOf(5),
      pageOf(6),
      stream(`BT /F1 11 Tf ${at(72, 400, 'We saw the har-')} ET`),
      stream(`BT /F1 11 Tf ${at(72, 700, 'bour at night.')} ET`),
      HELVETICA,
    ]);
    expect(brief((await readHere(pdf, 'a.pdf')).blocks)).toEqual([
      'paragraph@1: We saw the harbour',
      'paragraph@2: at night.',
    ]);
  });
});
