import { crc32, deflateRawSync } from 'node:zlib';
import { hwpParagraph, hwpRecord, hwpTable, hwpxParagraph, makeHwp, makeHwpx } from './hwp-samples.ts';
import { docxParagraph, makeDocx, makeEpub, makeOdf, makePptx, makeXlsx, pptxShape } from './office-samples.ts';
import {
  makeBombPdf,
  makeHtml,
  makeNestedFormsPdf,
  makePdf,
  makeRawPdf,
  SAMPLE_MARKDOWN,
  sampleParagraph,
} from './sample-files.ts';
import { writeCfb } from './write-cfb.ts';
import { writeZip } from './write-zip.ts';

export interface HostileFile {
  readonly what: string;
  readonly name: string;
  readonly bytes: Buffer;
}

const MIB = 1024 * 1024;
/** Unpacked size, larger than the limit of any document. */
const BOMB_BYTES = 300 * MIB;

/** Create a valid file of every format, as input for mutations. */
export async function validFiles(): Promise<Record<string, Buffer>> {
  const table = '<tr><td>a</td><td>b</td></tr>';
  const cells = (row: number) =>
    `<row r="${row}"><c r="A${row}"><v>${row}</v></c><c r="B${row}" t="str"><v>값 ${row}</v></c></row>`;
  return {
    pdf: await makePdf([{ heading: 'One', paragraphs: [sampleParagraph('wing')] }, { heading: 'Two' }]),
    html: makeHtml(`<h1>Head</h1><p>text 한글</p><table>${table}</table><pre>code</pre>`),
    docx: makeDocx(docxParagraph('Head', '<w:pStyle w:val="H1"/>') + docxParagraph('text 한글').repeat(20)),
    pptx: makePptx([pptxShape('title', 'One'), pptxShape(null, 'two')], { 0: pptxShape('body', 'note') }),
    xlsx: makeXlsx({ S: [1, 2, 3].map(cells).join('') }, { strings: ['<t>s</t>'] }),
    odt: makeOdf('text', `<text:h>Head</text:h>${'<text:p>text 한글</text:p>'.repeat(20)}`),
    ods: makeOdf(
      'spreadsheet',
      '<table:table table:name="S"><table:table-row><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>',
    ),
    odp: makeOdf(
      'presentation',
      '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>T</text:p></draw:text-box></draw:frame></draw:page>',
    ),
    epub: makeEpub(
      { 'a.xhtml': '<h1>One</h1><p>text</p>', 'b.xhtml': '<p>more</p>' },
      { labels: { 'b.xhtml': 'Two' } },
    ),
    hwp: makeHwp([
      [...hwpParagraph('제목', { shape: 1 }), ...hwpParagraph('', { marks: [11] }), ...hwpTable([['가', '나']])],
    ]),
    hwpx: makeHwpx([hwpxParagraph('제목', 1) + hwpxParagraph('본문')]),
    rtf: Buffer.from(
      "{\\rtf1\\ansi{\\fonttbl{\\f0\\fcharset129 B;}}{\\s1\\outlinelevel0 Head\\par}\\pard\\f0 \\'c7\\'d1 text\\par\\trowd\\intbl a\\cell b\\cell\\row}",
    ),
    eml: Buffer.from(
      'Subject: s\r\nFrom: a@b.c\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nbody\r\n' +
        '--x\r\nContent-Type: text/html\r\nContent-Disposition: attachment; filename=p.html\r\n\r\n<p>page\r\n--x--\r\n',
    ),
    ipynb: Buffer.from(
      JSON.stringify({
        nbformat: 4,
        cells: [
          { cell_type: 'markdown', source: ['# 제목\n', 'words'] },
          { cell_type: 'code', source: 'print(1)', outputs: [{ output_type: 'stream', text: ['1\n'] }] },
        ],
      }),
    ),
    hml: Buffer.from(
      '<?xml version="1.0" encoding="UTF-8"?><HWPML Version="2.8"><HEAD><MAPPINGTABLE><NUMBERINGLIST><NUMBERING Id="1">' +
        '<PARAHEAD Level="1" NumFormat="Digit">^1.</PARAHEAD></NUMBERING></NUMBERINGLIST><PARASHAPELIST>' +
        '<PARASHAPE Id="0" HeadingType="Number" Heading="1" Level="0"/></PARASHAPELIST></MAPPINGTABLE></HEAD><BODY>' +
        `<SECTION>${'<P ParaShape="0"><TEXT><CHAR>본문 text</CHAR></TEXT></P>'.repeat(20)}</SECTION></BODY></HWPML>`,
    ),
    fodt: Buffer.from(
      '<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" ' +
        'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" ' +
        'office:mimetype="application/vnd.oasis.opendocument.text"><office:body><office:text>' +
        `${'<text:p>text 한글</text:p>'.repeat(20)}</office:text></office:body></office:document>`,
    ),
    csv: Buffer.from(`id,name\n${Array.from({ length: 200 }, (_, i) => `${i},"이름, ${i}"`).join('\n')}`),
    json: Buffer.from(JSON.stringify({ data: Array.from({ length: 50 }, (_, i) => ({ id: i, text: `값 "${i}"` })) })),
    jsonl: Buffer.from('{"id":1,"tags":["a"]}\n{"id":2,"at":{"x":null}}\n'),
    md: Buffer.from(SAMPLE_MARKDOWN),
    txt: Buffer.from('plain words, 한글 문장.\n\nanother paragraph.\n'),
  };
}

type Wrap = (xml: string) => Buffer;

/** Functions that create a document of each XML format with the given main part. */
const XML_FORMATS: Readonly<Record<string, Wrap>> = {
  docx: (xml) => makeDocx('', { 'word/document.xml': xml }),
  xlsx: (xml) => withPart(makeXlsx({ S: '' }), 'xl/worksheets/sheet1.xml', xml),
  pptx: (xml) => withPart(makePptx(['']), 'ppt/slides/slide1.xml', xml),
  odt: (xml) => makeOdf('text', '', { 'content.xml': xml }),
  ods: (xml) => makeOdf('spreadsheet', '', { 'content.xml': xml }),
  hwpx: (xml) => withPart(makeHwpx([hwpxParagraph('x')]), 'Contents/section0.xml', xml),
  epub: (xml) => makeEpub({ 'a.xhtml': '' }, { more: { 'OEBPS/package.opf': xml } }),
};

/** Prepend an entry to an archive that has an entry with the same name. Readers use the first one. */
function withPart(archive: Buffer, name: string, xml: string): Buffer {
  const first = writeZip([{ name, data: xml }]);
  return joinArchives(first, archive);
}

/** Merge the entries of two archives under one directory. */
function joinArchives(a: Buffer, b: Buffer): Buffer {
  const directory = (archive: Buffer) => archive.readUInt32LE(archive.length - 6);
  const entries = (archive: Buffer) => archive.readUInt16LE(archive.length - 12);
  const files = Buffer.concat([a.subarray(0, directory(a)), b.subarray(0, directory(b))]);
  const second = Buffer.from(b.subarray(directory(b), b.length - 22));
  for (let at = 0; at < second.length; ) {
    second.writeUInt32LE(second.readUInt32LE(at + 42) + directory(a), at + 42);
    at += 46 + second.readUInt16LE(at + 28) + second.readUInt16LE(at + 30) + second.readUInt16LE(at + 32);
  }
  const central = Buffer.concat([a.subarray(directory(a), a.length - 22), second]);
  const end = Buffer.from(b.subarray(b.length - 22));
  end.writeUInt16LE(entries(a) + entries(b), 8);
  end.writeUInt16LE(entries(a) + entries(b), 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(files.length, 16);
  return Buffer.concat([files, central, end]);
}

/**
 * Create XML files with attacks.
 * @param canary file and server that only a reader that follows references would access
 */
export function xmlAttacks(canary: { file: string; url: string }): HostileFile[] {
  const laughs = Array.from({ length: 10 }, (_, i) => `<!ENTITY l${i + 1} "${`&l${i};`.repeat(10)}">`).join('');
  const attacks: Record<string, string> = {
    'a billion laughs': `<!DOCTYPE x [<!ENTITY l0 "ha">${laughs}]><x>&l10;</x>`,
    'an entity from a file': `<!DOCTYPE x [<!ENTITY f SYSTEM "file://${canary.file}">]><x>&f;</x>`,
    'an entity from a server': `<!DOCTYPE x [<!ENTITY u SYSTEM "${canary.url}/entity">]><x>&u;</x>`,
    'a document type from a server': `<!DOCTYPE x SYSTEM "${canary.url}/dtd"><x/>`,
    'parameter entities': `<!DOCTYPE x [<!ENTITY % p SYSTEM "${canary.url}/p"> %p;]><x/>`,
    'a hundred thousand levels': `${'<x>'.repeat(100_000)}${'</x>'.repeat(100_000)}`,
    'a hundred thousand attributes': `<x ${Array.from({ length: 100_000 }, (_, i) => `a${i}="1"`).join(' ')}/>`,
    'no end': '<x><y>text',
    'no XML': 'MZ\x90\x00\x03',
    'an inclusion': `<x xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="file://${canary.file}" parse="text"/></x>`,
  };
  // All formats share one parser: the first two get every attack, the others every second one.
  const ofFormat = (index: number) => Object.entries(attacks).filter((_, nth) => index < 2 || nth % 2 === index % 2);
  return Object.entries(XML_FORMATS).flatMap(([format, wrap], index) =>
    ofFormat(index).map(([what, xml]) => ({
      what: `${format}: ${what}`,
      name: `a.${format}`,
      bytes: wrap(xml),
    })),
  );
}

/** Create small files that unpack to large ones. @param names files to create; default: all */
export function bombs(names?: readonly string[]): HostileFile[] {
  const zeros = Buffer.alloc(BOMB_BYTES, ' ');
  const bomb = {
    data: deflateRawSync(zeros, { level: 1 }),
    isDeflated: true,
    declaredBytes: zeros.length,
    declaredCrc: crc32(zeros),
  };
  const part = (archive: Buffer, name: string, more = {}) =>
    joinArchives(writeZip([{ name, ...bomb, ...more }]), archive);
  const long = 'x'.repeat(30_000);
  const inner = part(makeDocx(''), 'word/document.xml');
  const mail =
    'Subject: s\r\nFrom: a@b.c\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n' +
    `--x\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=b.docx\r\nContent-Transfer-Encoding: base64\r\n\r\n${inner.toString('base64')}\r\n--x--\r\n`;
  const files: Record<string, () => Buffer> = {
    'docx: its text': () => inner,
    'docx: its styles': () => part(makeDocx(''), 'word/styles.xml'),
    'docx: its text, declared short': () => part(makeDocx(''), 'word/document.xml', { declaredBytes: 100 }),
    'docx: its list of types': () => part(makeDocx(''), '[Content_Types].xml'),
    'pptx: a slide': () => part(makePptx(['']), 'ppt/slides/slide1.xml'),
    'xlsx: its strings': () => part(makeXlsx({ S: '' }), 'xl/sharedStrings.xml'),
    'xlsx: one string a million times': () =>
      makeXlsx(
        { S: `<row>${'<c t="s"><v>0</v></c>'.repeat(10_000)}</row>`.repeat(30) },
        { strings: [`<t>${long}</t>`] },
      ),
    'docx: one note a million times': () =>
      makeDocx(`<w:p>${'<w:r><w:footnoteReference w:id="1"/></w:r>'.repeat(50_000)}</w:p>`, {
        'word/footnotes.xml': `<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:footnote w:id="1"><w:p><w:r><w:t>${long}</w:t></w:r></w:p></w:footnote></w:footnotes>`,
      }),
    'odt: its text': () => part(makeOdf('text', ''), 'content.xml'),
    'ods: rows without end': () =>
      makeOdf(
        'spreadsheet',
        `<table:table table:name="S">${`<table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>${long}</text:p></table:table-cell></table:table-row>`.repeat(9)}</table:table>`,
      ),
    'epub: a chapter': () => part(makeEpub({ 'a.xhtml': '' }), 'OEBPS/text/a.xhtml'),
    'epub: one chapter ten thousand times': () =>
      makeEpub(
        { 'a.xhtml': long },
        {
          more: {
            'OEBPS/package.opf': `<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c" href="text/a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>${'<itemref idref="c"/>'.repeat(10_000)}</spine></package>`,
          },
        },
      ),
    'hwpx: a section': () => part(makeHwpx([hwpxParagraph('x')]), 'Contents/section0.xml'),
    'hwp: a section': () => makeHwp([], { streams: { 'BodyText/Section0': bomb.data } }),
    'hwp: its properties': () => makeHwp([hwpParagraph('x')], { streams: { DocInfo: bomb.data } }),
    'eml: an attachment': () => Buffer.from(mail),
    'zip: an archive in an archive': () => writeZip([{ name: 'inner.zip', data: inner }]),
    'zip: seventy thousand entries': () =>
      writeZip(Array.from({ length: 65_000 }, (_, i) => ({ name: `${i}`, data: '', isStored: true }))),
    'pdf: a page': () => makeBombPdf(600 * MIB),
    'pdf: forms in forms': () => makeNestedFormsPdf(60),
    'rtf: groups': () => Buffer.from(`{\\rtf1 ${'{\\b '.repeat(400_000)}`),
    'html: tags': () => Buffer.from(`<!doctype html>${'<b><i><u>'.repeat(300_000)}`),
    'json: arrays': () => Buffer.from('['.repeat(5_000_000)),
    'csv: a field': () => Buffer.from(`a,b\n"${'x'.repeat(5_000_000)}`),
  };
  return (names ?? Object.keys(files)).map((what) => ({
    ...{ what, name: `a.${what.split(':')[0]}` },
    bytes: (files[what] as () => Buffer)(),
  }));
}

/** Make files with references to other places, cyclic structures, and content that does not match the file name. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: a list of files, one after the other
export async function deceptions(canary: { file: string; url: string }): Promise<HostileFile[]> {
  const valid = await validFiles();
  const rels = (target: string, mode = '') =>
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="x/officeDocument" Target="${target}"${mode}/></Relationships>`;
  const circle = Buffer.from(valid['hwp'] as Buffer);
  for (let at = circle.length - 512; at < circle.length; at += 4) circle.writeUInt32LE(1, at);
  const page = '/Type/Page/MediaBox[0 0 1 1]';
  const files: Array<[string, string, Buffer]> = [
    ['a path out of the archive', 'a.docx', makeDocx('', { '_rels/.rels': rels(`../../../..${canary.file}`) })],
    ['a file as a part', 'a.docx', makeDocx('', { '_rels/.rels': rels(`file://${canary.file}`) })],
    [
      'a server as a part',
      'a.docx',
      makeDocx('', { '_rels/.rels': rels(`${canary.url}/part`, ' TargetMode="External"') }),
    ],
    ['an absolute name', 'a.docx', writeZip([{ name: canary.file, data: 'x' }])],
    ['names that lead out', 'a.docx', writeZip([{ name: '../../../../tmp/out', data: 'x' }])],
    ['a name with NULs', 'a.docx', writeZip([{ name: 'a\0b', data: 'x' }])],
    ['a name of 60,000 characters', 'a.docx', writeZip([{ name: 'n'.repeat(60_000), data: 'x' }])],
    [
      'pictures from a server',
      'a.html',
      makeHtml(
        `<img src="${canary.url}/i"><link rel=stylesheet href="${canary.url}/c"><iframe src="file://${canary.file}"></iframe><p>text`,
      ),
    ],
    [
      'a chapter from a file',
      'a.epub',
      makeEpub(
        { 'a.xhtml': `<object data="file://${canary.file}"/><p>text</p>` },
        {
          more: {
            'META-INF/container.xml': `<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="../../../..${canary.file}"/></rootfiles></container>`,
          },
        },
      ),
    ],
    [
      'a body from elsewhere',
      'a.eml',
      Buffer.from(
        `Subject: s\r\nFrom: a@b.c\r\nContent-Type: message/external-body; access-type=URL; URL="${canary.url}/b"\r\n\r\nContent-Type: text/plain\r\n\r\n`,
      ),
    ],
    [
      'an attachment with a path as its name',
      'a.eml',
      Buffer.from(
        `Subject: s\r\nFrom: a@b.c\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="../../..${canary.file}"\r\n\r\ntext`,
      ),
    ],
    [
      'an object that is linked',
      'a.rtf',
      Buffer.from(
        `{\\rtf1{\\field{\\*\\fldinst INCLUDETEXT "file://${canary.file}"}{\\fldrslt text}}{\\*\\template ${canary.url}/t}}`,
      ),
    ],
    [
      'a list of pages in a circle',
      'a.pdf',
      makeRawPdf([{ dict: '/Type/Catalog/Pages 2 0 R' }, { dict: '/Type/Pages/Kids[2 0 R 2 0 R]/Count 9' }]),
    ],
    [
      'a page with a file as its content',
      'a.pdf',
      makeRawPdf([
        { dict: '/Type/Catalog/Pages 2 0 R' },
        { dict: '/Type/Pages/Kids[3 0 R]/Count 1' },
        { dict: `${page}/Parent 2 0 R/Contents 4 0 R` },
        { dict: `/F(${canary.file})/FFilter/FlateDecode`, stream: Buffer.from('x') },
      ]),
    ],
    [
      'a billion pages',
      'a.pdf',
      makeRawPdf([
        { dict: '/Type/Catalog/Pages 2 0 R' },
        { dict: '/Type/Pages/Kids[3 0 R]/Count 999999999' },
        { dict: `${page}/Parent 2 0 R` },
      ]),
    ],
    ['sectors in a circle', 'a.hwp', circle],
    [
      'a record longer than the file',
      'a.hwp',
      makeHwp([[{ ...hwpRecord(51, 1), data: Buffer.alloc(0) }, ...hwpParagraph('x')]], {
        streams: { 'BodyText/Section0': deflateRawSync(Buffer.from('4300f0ffffffff7f', 'hex')) },
      }),
    ],
    ['a password', 'a.docx', writeCfb({ EncryptedPackage: Buffer.alloc(9000) })],
    ['an old format', 'a.doc', writeCfb({ WordDocument: Buffer.alloc(9000) })],
    [
      'a million sheets',
      'a.xlsx',
      joinArchives(
        writeZip([
          {
            name: 'xl/workbook.xml',
            data: `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>${'<sheet name="S" r:id="rId1"/>'.repeat(100_000)}</sheets></workbook>`,
          },
        ]),
        makeXlsx({ S: '' }),
      ),
    ],
    [
      'a picture of a billion points',
      'a.png',
      Buffer.from('89504e470d0a1a0a0000000d494844527fffffff7fffffff0806000000', 'hex'),
    ],
    ['a program', 'a.pdf', Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01\0', 'latin1'), Buffer.alloc(4000)])],
    ['a PDF that is a zip too', 'a.zip', Buffer.concat([valid['pdf'] as Buffer, valid['docx'] as Buffer])],
    ['nothing', 'a.docx', Buffer.alloc(0)],
    ['one byte', 'a.docx', Buffer.from('P')],
  ];
  const formats = Object.keys(valid);
  const wrong = formats.map((format, index): [string, string, Buffer] => {
    const other = formats[(index + 5) % formats.length] as string;
    return [`${format} that is called ${other}`, `a.${other}`, valid[format] as Buffer];
  });
  return [...files, ...wrong].map(([what, name, bytes]) => ({ what, name, bytes }));
}
