import { describe, expect, test } from 'vitest';
import { detectFormat } from '../../src/ingest/extract/detect-format.ts';
import { recogniseType } from '../../src/ingest/extract/recognise-type.ts';
import { brief, extract, readHere } from '../support/read-document.ts';
import { writeCfb } from '../support/write-cfb.ts';
import { writeZip } from '../support/write-zip.ts';

const SPACES = ['office', 'text', 'table', 'style', 'drawing:draw', 'presentation']
  .map((pair) => pair.split(':'))
  .map(([name, prefix = name]) => `xmlns:${prefix}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`)
  .join(' ');

function flat(kind: string, body: string): Buffer {
  const type = `application/vnd.oasis.opendocument.${kind}`;
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?>\n<!-- saved -->\n<office:document ${SPACES} office:version="1.3" ` +
      `office:mimetype="${type}"><office:styles><style:style style:name="T" style:parent-style-name="Title"/>` +
      `</office:styles><office:body>${body}</office:body></office:document>`,
  );
}

describe('OpenDocument as one XML file', () => {
  test('a text is read in a child process, without its embedded pictures', async () => {
    const body =
      '<office:text><text:p text:style-name="T">항만</text:p><text:h text:outline-level="1">Fog</text:h>' +
      '<text:p>words<draw:frame><draw:image><office:binary-data>iVBORw0KGgo=</office:binary-data></draw:image>' +
      '</draw:frame> after</text:p></office:text>';
    const document = await extract(flat('text', body), 'a.fodt');
    expect(document.format).toBe('odt');
    expect(brief(document.blocks)).toEqual(['heading1: 항만', 'heading2: Fog', 'paragraph: words after']);
  });

  test('a spreadsheet has its sheets and rows', async () => {
    const cell = (text: string) => `<table:table-cell><text:p>${text}</text:p></table:table-cell>`;
    const row = (...cells: string[]) => `<table:table-row>${cells.map(cell).join('')}</table:table-row>`;
    const body = `<office:spreadsheet><table:table table:name="비용">${row('item', 'won')}${row('granite', '1,200')}</table:table></office:spreadsheet>`;
    const document = await readHere(flat('spreadsheet', body), 'a.xml');
    expect(document).toMatchObject({ format: 'ods', pages: 1 });
    expect(document.blocks.map(({ text }) => text).join('\n')).toContain('granite | 1,200');
    expect(document.blocks.at(-1)?.sheet).toBe('비용');
  });

  test('a presentation has its slides', async () => {
    const page = (text: string) =>
      `<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>${text}</text:p></draw:text-box></draw:frame></draw:page>`;
    const body = `<office:presentation>${page('One')}${page('Two')}</office:presentation>`;
    expect(await readHere(flat('presentation', body), 'a.fodp')).toMatchObject({ format: 'odp', pages: 2 });
  });

  test('a drawing is refused by its kind', async () => {
    await expect(readHere(flat('graphics', '<office:drawing/>'), 'a.fodg')).rejects.toMatchObject({
      category: 'unsupported_type',
      message: expect.stringContaining('graphics'),
    });
  });
});

describe('a format that is not read is refused by its name', () => {
  const zipped = (...names: string[]) => writeZip(names.map((name) => ({ name, data: 'x' })));
  const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument';
  const typed = (type: string, part: string, relationship = OFFICE) =>
    writeZip([
      {
        name: '[Content_Types].xml',
        data: `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/${part}" ContentType="${type}"/></Types>`,
      },
      {
        name: '_rels/.rels',
        data: `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r" Type="${relationship}" Target="${part}"/></Relationships>`,
      },
      { name: part, data: '<x/>' },
    ]);
  const open = (type: string) => writeZip([{ name: 'mimetype', data: type, isStored: true }]);
  const stream = (name: string) => writeCfb({ [name]: Buffer.alloc(600) });

  test.each<[string, Uint8Array]>([
    ['a Word document before 2007 (.doc)', stream('WordDocument')],
    ['an Excel workbook before 2007 (.xls)', stream('Workbook')],
    ['a Visio drawing before 2013 (.vsd)', stream('VisioDocument')],
    ['an Outlook message (.msg)', stream('__properties_version1.0')],
    ['a binary Excel workbook (.xlsb)', typed('application/vnd.ms-excel.sheet.binary.macroEnabled.main', 'w/b.bin')],
    ['a Visio drawing (.vsdx)', typed('application/vnd.ms-visio.drawing.main+xml', 'visio/document.xml')],
    [
      'a Visio drawing (.vsdx)',
      typed(
        'application/vnd.ms-visio.drawing.main+xml',
        'visio/document.xml',
        'http://schemas.microsoft.com/visio/2010/relationships/document',
      ),
    ],
    [
      'an XPS document (.xps)',
      typed('', 'FixedDocSeq.fdseq', 'http://schemas.microsoft.com/xps/2005/06/fixedrepresentation'),
    ],
    [
      'an XPS document (.xps)',
      typed('', 'FixedDocumentSequence.fdseq', 'http://schemas.openxps.org/oxps/v1.0/fixedrepresentation'),
    ],
    ['a zip archive (.zip)', typed('', 'a.nuspec', 'http://schemas.microsoft.com/packaging/2010/07/manifest')],
    ['an OpenDocument drawing (.odg)', open('application/vnd.oasis.opendocument.graphics')],
    ['a spreadsheet of Apple Numbers (.numbers)', zipped('Index/CalculationEngine.iwa', 'Index/Document.iwa')],
    ['a presentation of Apple Keynote (.key)', zipped('Index/Slide-1.iwa', 'Index/Document.iwa')],
    ['a zip archive (.zip)', zipped('a.txt', 'b.txt')],
  ])('%s', async (name, bytes) => {
    await expect(readHere(bytes, 'a.bin')).rejects.toMatchObject({
      category: 'unsupported_type',
      message: expect.stringContaining(`the file is ${name}, which is not supported`),
    });
  });

  test.each<[string, string, string]>([
    ['a 7-Zip archive (.7z)', '377abcaf271c0004', 'a.7z'],
    ['a RAR archive (.rar)', '526172211a0700', 'a.rar'],
    ['an SQLite database (.sqlite)', '53514c69746520666f726d6174203300', 'a.db'],
    ['a HEIC picture (.heic)', '000000186674797068656963000000006d69663168656963', 'photo.bin'],
    ['a sound recording (.mp3)', '49443303000000000000', 'a.mp3'],
    ['a WordPerfect document (.wpd)', 'ff575043'.padEnd(64, '00'), 'letter.wpd'],
    [
      'a Hancom document before version 5 (.hwp3)',
      Buffer.from('HWP Document File V3.00 \x1a').toString('hex'),
      'a.hwp',
    ],
  ])('%s', async (name, hex, fileName) => {
    const head = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(300, 1)]);
    await expect(detectFormat({ head, fileName }, recogniseType)).rejects.toMatchObject({
      category: 'unsupported_type',
      message: expect.stringContaining(`the file is ${name}, which is not supported`),
    });
  });
});
