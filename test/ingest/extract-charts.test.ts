import { describe, expect, test } from 'vitest';
import { addParts, relationshipsOf } from '../support/add-parts.ts';
import { hwpxParagraph, makeHwpx } from '../support/hwp-samples.ts';
import { docxParagraph, makeDocx, makeOdf, makePptx, makeXlsx, pptxShape } from '../support/office-samples.ts';
import { brief, readHere } from '../support/read-document.ts';

const A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"';
const C = 'xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart"';
const R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"';

const title = (text: string) =>
  `<c:title><c:tx><c:rich><a:p><a:r><a:t>${text}</a:t></a:r></a:p></c:rich></c:tx></c:title>`;
const points = (values: readonly string[]) =>
  values.map((value, index) => `<c:pt idx="${index}"><c:v>${value}</c:v></c:pt>`).join('');
const strings = (values: readonly string[]) =>
  `<c:strRef><c:f>S!A1</c:f><c:strCache>${points(values)}</c:strCache></c:strRef>`;
const numbers = (values: readonly string[], format = 'General') =>
  `<c:numRef><c:f>S!B1</c:f><c:numCache><c:formatCode>${format}</c:formatCode>${points(values)}</c:numCache></c:numRef>`;
const series = (name: string, categories: string, values: string) =>
  `<c:ser><c:idx val="0"/><c:tx>${strings([name])}</c:tx><c:cat>${categories}</c:cat><c:val>${values}</c:val></c:ser>`;
const chart = (content: string) =>
  `<c:chartSpace ${C} ${A}><c:chart>${title('Ships in port 입항')}<c:plotArea><c:barChart>${content}</c:barChart>` +
  `<c:catAx>${title('Month')}</c:catAx></c:plotArea></c:chart></c:chartSpace>`;

const PORT = chart(
  series('Ferries', strings(['March', 'April']), numbers(['12', '15.5'])) +
    series('Trawlers', strings(['March', 'April']), numbers(['0.25', '0.5'], '0%')),
);
const BLOCKS = [
  'paragraph: Ships in port 입항\nMonth',
  'table: | Ferries | Trawlers\nMarch | 12 | 25%\nApril | 15.5 | 50%',
];

describe('a chart has its titles, series, categories and values', () => {
  const anchor = `<w:p><w:r><w:t>See it.</w:t><w:drawing><c:chart ${C} ${R} r:id="rId1"/></w:drawing></w:r></w:p>`;

  test('in a Word document, after the paragraph that shows it', async () => {
    const document = makeDocx(anchor + docxParagraph('After.'), {
      'word/_rels/document.xml.rels': relationshipsOf({ 'charts/chart1.xml': 'chart' }),
      'word/charts/chart1.xml': PORT,
    });
    expect(brief((await readHere(document, 'a.docx')).blocks)).toEqual([
      'paragraph: See it.',
      ...BLOCKS,
      'paragraph: After.',
    ]);
  });

  test('in a presentation, on its slide', async () => {
    const slides = makePptx([pptxShape('title', 'Port')]);
    const document = await addParts(slides, {
      'ppt/slides/_rels/slide1.xml.rels': relationshipsOf({ '../charts/chart1.xml': 'chart' }),
      'ppt/charts/chart1.xml': PORT,
    });
    const { blocks } = await readHere(document, 'a.pptx');
    expect(blocks.map(({ text }) => text.trim())).toEqual([
      'Port',
      ...BLOCKS.map((block) => block.slice(block.indexOf(':') + 2)),
    ]);
    expect(blocks.every(({ slide, page }) => slide === 1 && page === 1)).toBe(true);
  });

  test('in a workbook, after the cells of its sheet and as a sheet of its own', async () => {
    const book = makeXlsx({ Data: '<row r="1"><c r="A1" t="inlineStr"><is><t>cell</t></is></c></row>', Chart: '' });
    const document = await addParts(book, {
      'xl/_rels/workbook.xml.rels': relationshipsOf({
        'worksheets/sheet1.xml': 'worksheet',
        'chartsheets/sheet1.xml': 'chartsheet',
      }),
      'xl/chartsheets/sheet1.xml': '<chartsheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"/>',
      'xl/worksheets/_rels/sheet1.xml.rels': relationshipsOf({ '../drawings/drawing1.xml': 'drawing' }),
      'xl/chartsheets/_rels/sheet1.xml.rels': relationshipsOf({ '../drawings/drawing1.xml': 'drawing' }),
      'xl/drawings/drawing1.xml': `<wsDr ${A}><sp><txBody><a:p><a:r><a:t>a box</a:t></a:r></a:p></txBody></sp></wsDr>`,
      'xl/drawings/_rels/drawing1.xml.rels': relationshipsOf({ '../charts/chart1.xml': 'chart' }),
      'xl/charts/chart1.xml': PORT,
    });
    const { blocks } = await readHere(document, 'a.xlsx');
    const over = ['paragraph: a box', ...BLOCKS];
    expect(brief(blocks).map((line) => line.replace(/@\d/, ''))).toEqual([
      'heading1: Data',
      'table: cell',
      ...over,
      'heading1: Chart',
      ...over,
    ]);
    expect(blocks.at(-1)).toMatchObject({ sheet: 'Chart', page: 2 });
  });

  test('in a Hancom document', async () => {
    const section = `<hp:p><hp:run><hp:t>앞</hp:t><hp:chart chartIDRef="Chart/chart1.xml"/></hp:run></hp:p>${hwpxParagraph('뒤')}`;
    const document = await addParts(makeHwpx([section]), { 'Chart/chart1.xml': PORT });
    expect(brief((await readHere(document, 'a.hwpx')).blocks)).toEqual(['paragraph: 앞', ...BLOCKS, 'paragraph: 뒤']);
  });

  const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
  const row = (...cells: string[]) => `<table:table-row>${cells.map(cell).join('')}</table:table-row>`;
  const OFFICE = ['office', 'text', 'table', 'chart']
    .map((name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
    .join(' ');
  const OBJECT =
    `<office:document-content ${OFFICE}><office:body><office:chart><chart:chart>` +
    '<chart:title><text:p>Ships in port 입항</text:p></chart:title><chart:title><text:p>Month</text:p></chart:title>' +
    `<table:table>${row('', 'Ferries', 'Trawlers')}${row('March', '12', '25%')}${row('April', '15.5', '50%')}</table:table>` +
    '</chart:chart></office:chart></office:body></office:document-content>';
  const frame =
    '<draw:frame><draw:object xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object 1"/></draw:frame>';

  test('in an OpenDocument text and spreadsheet', async () => {
    const text = makeOdf('text', `<office:text><text:p>See it.${frame}</text:p><text:p>After.</text:p></office:text>`, {
      'Object 1/content.xml': OBJECT,
    });
    expect(brief((await readHere(text, 'a.odt')).blocks)).toEqual([
      'paragraph: See it.',
      ...BLOCKS,
      'paragraph: After.',
    ]);
    const shapes = `<table:shapes>${frame}<draw:custom-shape><text:p>a box</text:p></draw:custom-shape></table:shapes>`;
    const sheet = makeOdf(
      'spreadsheet',
      `<office:spreadsheet><table:table table:name="Data">${shapes}${row('cell', 'other')}</table:table></office:spreadsheet>`,
      { 'Object 1/content.xml': OBJECT },
    );
    expect(brief((await readHere(sheet, 'a.ods')).blocks).map((line) => line.replace('@1', ''))).toEqual([
      'heading1: Data',
      'table: cell | other',
      ...BLOCKS,
      'paragraph: a box',
    ]);
  });
});

test('series with other categories have tables of their own, and categories of several levels are joined', async () => {
  const levels =
    '<c:multiLvlStrRef><c:multiLvlStrCache>' +
    `<c:lvl>${points(['Q1', 'Q2'])}</c:lvl><c:lvl>${points(['2024'])}</c:lvl></c:multiLvlStrCache></c:multiLvlStrRef>`;
  const scatter = `<c:ser><c:tx><c:v>Depth</c:v></c:tx><c:xVal>${numbers(['1', '2'])}</c:xVal><c:yVal>${numbers(['7', '9'])}</c:yVal></c:ser>`;
  const document = makeDocx(`<w:p><w:r><w:drawing><c:chart ${C} ${R} r:id="rId1"/></w:drawing></w:r></w:p>`, {
    'word/_rels/document.xml.rels': relationshipsOf({ 'charts/chart1.xml': 'chart' }),
    'word/charts/chart1.xml': chart(series('Tides', levels, numbers(['3', '4'])) + scatter),
  });
  expect(brief((await readHere(document, 'a.docx')).blocks).slice(1)).toEqual([
    'table: | Tides\n2024 Q1 | 3\nQ2 | 4',
    'table: | Depth\n1 | 7\n2 | 9',
  ]);
});

describe('cells', () => {
  const number = (value: string, style = 0) => `<c s="${style}"><v>${value}</v></c>`;
  const styles =
    '<numFmts><numFmt numFmtId="164" formatCode="General&quot; won&quot;"/></numFmts>' +
    '<cellXfs><xf numFmtId="0"/><xf numFmtId="49"/><xf numFmtId="164"/><xf numFmtId="11"/><xf numFmtId="3"/></cellXfs>';
  const read = async (rows: string, strings: string[] = []) =>
    (await readHere(makeXlsx({ S: rows }, { styles, strings }), 'a.xlsx')).blocks.slice(1).map(({ text }) => text);

  test('whole numbers of 12 to 15 digits are as they are; longer ones, fractions and chosen exponents as displayed', async () => {
    const rows = [
      number('123456789012') + number('999999999999999') + number('-123456789012345'),
      number('1.23456789012E+14') + number('4006381333931', 1) + number('4006381333931', 2),
      number('1234567890123456') + number('123456789012.5') + number('123456789012', 3),
      number('123456789012', 4) + number('12345678901') + number('0.1'),
    ];
    const text = await read(rows.map((cells, index) => `<row r="${index + 1}">${cells}</row>`).join(''));
    expect(text).toEqual([
      [
        '123456789012 | 999999999999999 | -123456789012345',
        '123456789012000 | 4006381333931 | 4006381333931 won',
        '1.23457E+15 | 1.23457E+11 | 1.23E+11',
        '123,456,789,012 | 12345678901 | 0.1',
      ].join('\n'),
    ]);
  });

  test('decimals that find no place are rounded, not cut off', async () => {
    const values = ['12345678901.75', '1234567890.5', '-12345678901.5', '99999999999.7', '123456789.16'];
    const text = await read(`<row r="1">${values.map((value) => number(value)).join('')}</row>`);
    expect(text).toEqual(['12345678902 | 1234567891 | -12345678902 | 100000000000 | 123456789.2']);
  });

  test('escaped characters in strings, inline text and results of formulas are decoded', async () => {
    const cells =
      '<c t="s"><v>0</v></c><c t="str"><v>two_x000D_\nlines</v></c>' +
      '<c t="inlineStr"><is><t>tab_x0009_here</t></is></c><c t="str"><v>_x005F_x000D_ stays, _x12_ too</v></c>';
    expect(await read(`<row r="1">${cells}</row>`, ['<t>one_x000D_</t>'])).toEqual([
      'one | two lines | tab here | _x000D_ stays, _x12_ too',
    ]);
  });

  test('an OpenDocument cell that displays an exponent has its digits', async () => {
    const cell = (shown: string, value: string) =>
      `<table:table-cell office:value="${value}"><text:p>${shown}</text:p></table:table-cell>`;
    const body =
      `<office:spreadsheet><table:table table:name="S"><table:table-row>${cell('1.23456789012345E+14', '123456789012345')}` +
      `${cell('4,00638E+12', '4006381333931')}${cell('1.5E+3', 'x')}</table:table-row></table:table></office:spreadsheet>`;
    const { blocks } = await readHere(makeOdf('spreadsheet', body), 'a.ods');
    expect(blocks.at(-1)?.text).toBe('123456789012345 | 4006381333931 | x');
  });

  test('a sheet of ten thousand rows of 15 digits keeps every digit', async () => {
    const rows = Array.from(
      { length: 10_000 },
      (_, index) => `<row>${number(String(100_000_000_000_000 + index * 7))}</row>`,
    );
    const lines = (await read(rows.join(''))).join('\n').split('\n');
    expect(lines).toHaveLength(10_000);
    expect(lines.every((line, index) => line === String(100_000_000_000_000 + index * 7))).toBe(true);
  });
});
