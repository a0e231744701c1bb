import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import {
  docxParagraph,
  makeDocx,
  makeEpub,
  makeOdf,
  makePptx,
  makeXlsx,
  pptxShape,
} from '../support/office-samples.ts';
import { brief, extract, readHere } from '../support/read-document.ts';
import { writeCfb } from '../support/write-cfb.ts';
import { writeZip } from '../support/write-zip.ts';

const fixture = (name: string) => readFileSync(new URL(`../fixtures/office/${name}`, import.meta.url));

const LETTER = [
  'heading1: 항만 보고서',
  'heading2: Harbour works',
  'paragraph: The quay was surveyed in March. 부두는 삼월에 측량되었다.',
  'paragraph: By the harbour office.',
  'list_item1: - granite blocks',
  'list_item2: - from the north quarry',
  'list_item1: - oak piles',
  'heading3: Steps',
  'list_item1: 1. dredge the basin',
  'list_item1: 2. drive the piles',
  'code: tide = 4.2\nlevel = tide - 1',
  'heading3: Costs',
  'table: Item | Won\nGranite | 1,200\n참나무 | 800',
  'paragraph: End of the report.',
];
const TALK = [
  'heading1@1: Harbour plan 항만 계획',
  'list_item1@1: - survey the quay',
  'list_item1@1: - drive the piles',
  'heading2@1: Notes',
  'paragraph@1: Mention the tide table.',
  'heading1@2: Slide 2',
  'paragraph@2: A box without a title',
];
const LEDGER = [
  'heading1@1: 매출',
  'table@1: Ship | Day | Fee | Share\nHeron | 2024년 3월 14일 | 1,234,567.89 | 25.6%\n' +
    '왜가리 | 2024년 12월 1일 | 2,469,135.78 | 100.0%',
  'table@1: Checked | 1',
  'heading1@2: Notes',
  'table@2: All fees in won',
];

describe('files of an office program', () => {
  test.each([
    ['letter.docx', 'docx', LETTER, null],
    ['letter.odt', 'odt', LETTER, null],
    ['letter.rtf', 'rtf', LETTER, null],
    ['letter.fodt', 'odt', LETTER, null],
    ['talk.fodp', 'odp', TALK, 2],
    ['ledger.fods', 'ods', LEDGER.map((line) => line.replace('Checked | 1', 'Checked | TRUE')), 2],
    ['talk.pptx', 'pptx', TALK, 2],
    ['talk.odp', 'odp', TALK, 2],
    ['ledger.xlsx', 'xlsx', LEDGER, 2],
    ['ledger.ods', 'ods', LEDGER, 2],
  ])('%s is read in a child process, with headings, lists, tables and pages', async (name, format, blocks, pages) => {
    const document = await extract(fixture(name), name);
    expect(document).toMatchObject({ format, pages, failedPages: [], skipped: [] });
    expect(brief(document.blocks)).toEqual(blocks);
    for (const block of document.blocks) expect(document.text.slice(block.start, block.end)).toBe(block.text);
  });

  test('a book is read chapter by chapter', async () => {
    const document = await extract(fixture('letter.epub'), 'letter.epub');
    expect(document.format).toBe('epub');
    expect(document.text).toContain('부두는 삼월에 측량되었다.');
    expect(brief(document.blocks)).toContain('table: Item | Won\nGranite | 1,200\n참나무 | 800');
  });
});

describe('docx', () => {
  const read = async (body: string, more?: Record<string, string>) =>
    brief((await readHere(makeDocx(body, more), 'a.docx')).blocks);

  test('headings of docx come from styles, from their base styles, and from outline levels', async () => {
    const body =
      docxParagraph('First', '<w:pStyle w:val="H1"/>') +
      docxParagraph('Second', '<w:pStyle w:val="Own"/>') +
      docxParagraph('Third', '<w:outlineLvl w:val="2"/>') +
      docxParagraph('Body', '<w:outlineLvl w:val="9"/>') +
      docxParagraph('Round', '<w:pStyle w:val="Circle"/>');
    expect(await read(body)).toEqual([
      'heading1: First',
      'heading2: Second',
      'heading3: Third',
      'paragraph: Body',
      'paragraph: Round',
    ]);
  });

  test('list numbers of docx are counted as they are shown, in Korean too', async () => {
    const item = (text: string, list: number, level = 0) =>
      docxParagraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
    const body = item('one', 1) + item('a', 1, 1) + item('b', 1, 1) + item('two', 1) + item('c', 1, 1) + item('dot', 2);
    expect(await read(body)).toEqual([
      'list_item1: 제1조 one',
      'list_item2: 1-가. a',
      'list_item2: 1-나. b',
      'list_item1: 제2조 two',
      'list_item2: 2-가. c',
      'list_item1: - dot',
    ]);
  });

  test('deleted, hidden and repeated text of docx is left out', async () => {
    const body =
      '<w:p><w:r><w:t>kept </w:t></w:r><w:del><w:r><w:delText>deleted</w:delText></w:r></w:del>' +
      '<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom><w:ins><w:r><w:t>added</w:t></w:r></w:ins>' +
      '<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>' +
      docxParagraph('Contents 1', '<w:pStyle w:val="Toc"/>') +
      '<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>' +
      '</mc:Choice><mc:Fallback><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></mc:Fallback>' +
      '</mc:AlternateContent></w:r><w:r><w:t>host</w:t></w:r></w:p>';
    expect(await read(body)).toEqual(['paragraph: kept added', 'paragraph: boxed', 'paragraph: host']);
  });

  test('a note of docx follows its paragraph, and a listing stays one block', async () => {
    const body =
      '<w:p><w:r><w:t>Claim</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>' +
      docxParagraph('a = 1', '<w:pStyle w:val="Code"/>') +
      docxParagraph('', '<w:pStyle w:val="Code"/>') +
      docxParagraph('  b = 2', '<w:pStyle w:val="Code"/>');
    expect(await read(body)).toEqual(['paragraph: Claim', 'paragraph: The note.', 'code: a = 1\n\n  b = 2']);
  });

  test('a nested table of docx becomes text of its cell, and a table of one cell becomes its blocks', async () => {
    const cell = (content: string) => `<w:tc>${content}</w:tc>`;
    const row = (...cells: string[]) => `<w:tr>${cells.join('')}</w:tr>`;
    const inner = `<w:tbl>${row(cell(docxParagraph('x')), cell(docxParagraph('y')))}</w:tbl>`;
    const outer = `<w:tbl>${row(cell(docxParagraph('a') + docxParagraph('b')), cell(inner))}${row(cell(docxParagraph('')), cell(docxParagraph('d')))}</w:tbl>`;
    const frame = `<w:tbl>${row(cell(docxParagraph('Head', '<w:pStyle w:val="H1"/>') + docxParagraph('framed')))}</w:tbl>`;
    expect(await read(outer + frame)).toEqual(['table: a b | x y\n | d', 'heading1: Head', 'paragraph: framed']);
  });

  test('docx with strict namespaces and other prefixes is read', async () => {
    const document =
      '<x:document xmlns:x="http://purl.oclc.org/ooxml/wordprocessingml/main"><x:body><x:p><x:r><x:t>strict</x:t></x:r></x:p></x:body></x:document>';
    expect(await read('', { 'word/document.xml': document })).toEqual(['paragraph: strict']);
  });
});

describe('pptx', () => {
  test('slides of pptx are in the order of the show, each under its title, with notes', async () => {
    const table =
      '<p:graphicFrame><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>h</a:t></a:r></a:p></a:txBody></a:tc>' +
      '<a:tc><a:txBody><a:p><a:r><a:t>v</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></p:graphicFrame>';
    const slides = [
      pptxShape('sldNum', '1') + pptxShape('body', '요점') + pptxShape('ctrTitle', 'First', 'title'),
      pptxShape(null, 'box') + table,
      pptxShape('title', 'Third'),
    ];
    const notes = { 0: pptxShape('sldImg', 'no') + pptxShape('body', 'say this') };
    const { blocks, pages } = await readHere(makePptx(slides, notes), 'a.pptx');
    expect(pages).toBe(3);
    expect(brief(blocks)).toEqual([
      'heading1@1: First title',
      'list_item1@1: - 요점',
      'heading2@1: Notes',
      'paragraph@1: say this',
      'heading1@2: Slide 2',
      'paragraph@2: box',
      'table@2: h | v',
      'heading1@3: Third',
    ]);
  });

  test('a damaged slide of pptx is reported, and the others are read', async () => {
    const { blocks, failedPages } = await readHere(
      makePptx([pptxShape('title', 'Good'), '<p:sp>', pptxShape('title', 'Also')]),
      'a.pptx',
    );
    expect(failedPages).toEqual([2]);
    expect(brief(blocks)).toEqual(['heading1@1: Good', 'heading1@3: Also']);
    await expect(readHere(makePptx(['<p:sp>']), 'a.pptx')).rejects.toMatchObject({ category: 'corrupt' });
  });
});

describe('xlsx', () => {
  const styles =
    '<numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;년&quot; m&quot;월&quot; d&quot;일&quot;"/>' +
    '<numFmt numFmtId="165" formatCode="[broken"/></numFmts>' +
    `<cellXfs>${[0, 14, 10, 164, 3, 165].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs>`;
  const cell = (at: string, value: string, more = '') => `<c r="${at}" ${more}><v>${value}</v></c>`;

  test('numbers, dates and formulas of xlsx are read as they are shown', async () => {
    const row =
      cell('A1', '0', 't="s"') +
      cell('B1', '45000', 's="1"') +
      cell('C1', '0.256', 's="2"') +
      cell('D1', '45000', 's="3"') +
      `<c r="E1" s="4"><f>1+1</f><v>1234567.6</v></c>` +
      cell('F1', '0.1', 's="5"') +
      cell('G1', '1', 't="b"') +
      cell('H1', '#DIV/0!', 't="e"') +
      '<c r="I1" t="inlineStr"><is><t>in</t><r><t>line</t></r></is></c>' +
      cell('J1', '0.30000000000000004');
    const workbook = makeXlsx(
      { S: `<row r="1">${row}</row>` },
      {
        styles,
        strings: ['<r><t>가</t></r><r><t>나</t></r><rPh sb="0" eb="1"><t>reading</t></rPh>'],
      },
    );
    const { blocks } = await readHere(workbook, 'a.xlsx');
    expect(blocks.at(-1)?.text).toBe(
      '가나 | 2023-03-15 | 25.60% | 2023년 3월 15일 | 1,234,568 | 0.1 | TRUE | #DIV/0! | inline | 0.3',
    );
    const mac = makeXlsx(
      { S: `<row r="1">${cell('A1', '43538', 's="1"')}${cell('B1', '7')}</row>` },
      { styles, is1904: true },
    );
    expect((await readHere(mac, 'a.xlsx')).blocks.at(-1)?.text).toBe('2023-03-15 | 7');
  });

  test('an empty row of xlsx separates two tables, and wide gaps are reduced', async () => {
    const text = (at: string) => `<c r="${at}" t="str"><v>${at}</v></c>`;
    const rows =
      `<row r="1">${text('A1')}${text('C1')}</row><row r="2">${text('A2')}</row>` +
      `<row r="5">${text('B5')}${text('XFD5')}</row><row r="6"></row><row r="7">${text('A7')}</row>`;
    const { blocks } = await readHere(makeXlsx({ 표: rows, Empty: '' }), 'a.xlsx');
    expect(brief(blocks)).toEqual([
      'heading1@1: 표',
      'table@1: A1 |  | C1\nA2',
      `table@1: | B5${' | '.repeat(17)}XFD5`,
      'table@1: A7',
    ]);
  });

  test('every block of a long table of xlsx has the names of its columns as its header, and the next table has its own', async () => {
    const row = (number: number, ...cells: string[]) =>
      `<row r="${number}">${cells.map((value, i) => `<c r="${'ABC'[i]}${number}" t="str"><v>${value}</v></c>`).join('')}</row>`;
    const rows = Array.from({ length: 2000 }, (_, i) => row(i + 2, `item ${i}`, `${i * 3}`));
    const sheet = [row(1, 'name', '가격'), ...rows, row(3000, 'small', 'table')].join('');
    const { blocks } = await readHere(makeXlsx({ Prices: sheet }), 'a.xlsx');
    expect(brief(blocks.slice(0, 1))).toEqual(['heading1@1: Prices']);
    const tables = blocks.filter(({ kind }) => kind === 'table');
    expect(tables.length).toBeGreaterThan(2);
    expect(tables.slice(0, -1).every(({ header }) => header === 'name | 가격')).toBe(true);
    expect(blocks.every(({ sheet }) => sheet === 'Prices')).toBe(true);
    expect(
      blocks
        .map(({ text }) => text)
        .join('\n')
        .match(/^item /gm),
    ).toHaveLength(2000);
    expect(brief(blocks.slice(-1))).toEqual(['table@1: small | table']);
  });
});

describe('OpenDocument', () => {
  test('lists, blanks, listings and notes of an OpenDocument text are read', async () => {
    const body =
      '<text:h text:outline-level="2">Head<text:s text:c="2"/>line</text:h>' +
      '<text:p>one<text:line-break/>two\n   three<office:annotation><text:p>comment</text:p></office:annotation></text:p>' +
      '<text:list text:style-name="L1"><text:list-item><text:p>first</text:p></text:list-item><text:list-item><text:p>second</text:p></text:list-item></text:list>' +
      '<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>' +
      '<text:p text:style-name="P1">code();</text:p>';
    expect(brief((await readHere(makeOdf('text', body), 'a.odt')).blocks)).toEqual([
      'heading2: Head line',
      'paragraph: one\ntwo three',
      'list_item1: i) first',
      'list_item1: ii) second',
      'code: code();',
    ]);
  });

  test('rows and cells of OpenDocument that are repeated a million times are bounded', async () => {
    const filled = '<table:table-cell table:number-columns-repeated="3"><text:p>x</text:p></table:table-cell>';
    const body =
      `<table:table table:name="S"><table:table-row table:number-rows-repeated="2">${filled}</table:table-row>` +
      '<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"/></table:table-row>' +
      `<table:table-row table:number-rows-repeated="99999999">${filled}</table:table-row></table:table>`;
    const { blocks } = await readHere(makeOdf('spreadsheet', body), 'a.ods');
    expect(brief(blocks.slice(0, 2))).toEqual(['heading1@1: S', 'table@1: x | x | x\nx | x | x']);
    expect(blocks.map(({ text }) => text.length).reduce((a, b) => a + b)).toBeLessThan(20_000);
  });
});

describe('epub', () => {
  test('chapters of epub follow the spine below the title, and take a missing heading from the table of contents', async () => {
    const book = makeEpub(
      { 'b.xhtml': '<h1>Second 둘</h1><p>text<br/>line</p>', 'a.xhtml': '<p>No heading &#xAC00;</p><script src="x"/>' },
      { labels: { 'a.xhtml': 'Last chapter' } },
    );
    expect(brief((await readHere(book, 'a.epub')).blocks)).toEqual([
      'heading1: The book',
      'heading2: Second 둘',
      'paragraph: text\nline',
      'heading2: Last chapter',
      'paragraph: No heading 가',
    ]);
  });

  test('an epub book with obfuscated fonts is read, and one with encrypted chapters ends as encrypted', async () => {
    const protect = (algorithm: string, uri: string) => ({
      'META-INF/encryption.xml': `<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:EncryptionMethod Algorithm="${algorithm}"/><enc:CipherData><enc:CipherReference URI="${uri}"/></enc:CipherData></enc:EncryptedData></encryption>`,
    });
    const chapters = { 'a.xhtml': '<p>text</p>' };
    const font = makeEpub(chapters, { more: protect('http://www.idpf.org/2008/embedding', 'OEBPS/font.otf') });
    expect((await readHere(font, 'a.epub')).blocks).toHaveLength(2);
    const locked = makeEpub(chapters, {
      more: protect('http://www.w3.org/2001/04/xmlenc#aes256-cbc', 'OEBPS/text/a.xhtml'),
    });
    await expect(readHere(locked, 'a.epub')).rejects.toMatchObject({ category: 'encrypted' });
  });
});

describe('what cannot be read', () => {
  const bomb = (name: string) => ({ name, data: Buffer.alloc(3_000_000, ' ') });
  const manifest =
    '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>';
  const docx = makeDocx(docxParagraph('text '.repeat(500)));
  const entities = '<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;">]><x>&b;</x>';
  const outside = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>';
  const deep = `${'<x>'.repeat(5000)}${'</x>'.repeat(5000)}`;

  test.each<[string, Buffer, string]>([
    [
      'an office document with a password',
      writeCfb({ EncryptionInfo: Buffer.alloc(50), EncryptedPackage: Buffer.alloc(5000) }),
      'encrypted',
    ],
    ['an OpenDocument file with a password', makeOdf('text', '', { 'META-INF/manifest.xml': manifest }), 'encrypted'],
    ['an archive with a password', writeZip([{ name: 'secret.txt', data: 'x', isEncrypted: true }]), 'encrypted'],
    ['an archive without a document', writeZip([{ name: 'a.txt', data: 'x' }]), 'unsupported_type'],
    ['an old document of Word', writeCfb({ WordDocument: Buffer.alloc(5000) }), 'unsupported_type'],
    ['half a document', docx.subarray(0, docx.length / 2), 'corrupt'],
    ['an empty archive', writeZip([]), 'unsupported_type'],
    ['a document without a main part', writeZip([{ name: '[Content_Types].xml', data: '<Types/>' }]), 'corrupt'],
    ['a document with its own entities', makeDocx('', { 'word/document.xml': entities }), 'corrupt'],
    ['a document with external entities', makeDocx('', { 'word/document.xml': outside }), 'corrupt'],
    ['a deeply nested document', makeDocx('', { 'word/document.xml': deep }), 'corrupt'],
    ['an archive with paths that leave its folder', writeZip([{ name: '../../etc/passwd', data: 'x' }]), 'corrupt'],
    [
      'an archive with a wrong declared size',
      writeZip([{ ...bomb('[Content_Types].xml'), declaredBytes: 10 }]),
      'corrupt',
    ],
    [
      'an archive with a wrong checksum',
      writeZip([
        { name: '_rels/.rels', data: '<a/>' },
        { name: '[Content_Types].xml', data: '<a/>', declaredCrc: 1 },
        { name: 'mimetype', data: 'x', declaredCrc: 1 },
      ]),
      'corrupt',
    ],
  ])('%s cannot be read', async (_, bytes, category) => {
    await expect(readHere(bytes, 'lies.txt')).rejects.toMatchObject({ name: 'ExtractError', category });
  });

  test('an archive that unpacks to too many bytes, or has too many entries, is refused before it is unpacked', async () => {
    const many = writeZip(Array.from({ length: 50 }, (_, i) => ({ name: `${i}`, data: '' })));
    const limits = { unpackedBytesMax: 1_000_000, entriesMax: 40 };
    await expect(readHere(many, 'a.docx', limits)).rejects.toMatchObject({ category: 'too_large' });
    const big = writeZip([bomb('word/document.xml'), bomb('x'), bomb('y')]);
    await expect(readHere(big, 'a.docx', limits)).rejects.toMatchObject({ category: 'too_large' });
    const part = makeDocx('', { 'word/document.xml': `<a>${' '.repeat(2_000_000)}</a>` });
    await expect(readHere(part, 'a.docx', limits)).rejects.toMatchObject({ category: 'too_large' });
    expect(part.length).toBeLessThan(20_000);
  });
});
