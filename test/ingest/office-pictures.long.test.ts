import { deflateRawSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ExtractError } from '../../src/ingest/extract/errors.ts';
import { addParts, relationshipsOf } from '../support/add-parts.ts';
import { encodePng } from '../support/encode-image.ts';
import { hwpParagraph, hwpRecord, hwpStream, hwpxParagraph, makeHwp, makeHwpx } from '../support/hwp-samples.ts';
import {
  docxParagraph,
  makeDocx,
  makeEpub,
  makeOdf,
  makePptx,
  makeXlsx,
  pptxShape,
} from '../support/office-samples.ts';
import { extract, gradient } from '../support/read-pictures.ts';

const png = (width: number) => encodePng(gradient(width, 60));
const read = async (bytes: Buffer, name: string, strategy: 'auto' | 'always' = 'auto') => {
  const { blocks, ...found } = await extract(bytes, name, undefined, { strategy });
  return { lines: blocks.map(({ text, page, slide, sheet }) => [text, page ?? slide ?? sheet ?? null]), ...found };
};
const DAMAGED = Buffer.from('no picture at all');

const docx = (body: string) =>
  addParts(
    makeDocx(body, {
      'word/_rels/document.xml.rels': relationshipsOf({ 'media/a.png': 'image', 'media/b.emf': 'image' }),
    }),
    { 'word/media/a.png': png(90), 'word/media/b.emf': DAMAGED },
  );

describe('pictures of office documents are recognised as those of PDF pages', () => {
  test('a Word document without text, or with the strategy always', async () => {
    const scan = await read(await docx('<w:p><w:r><w:drawing/></w:r></w:p>'), 'a.docx');
    expect(scan).toMatchObject({ lines: [['picture 90 x 60', null]], pages: null, recognisedPages: [], skipped: [] });
    const letter = await docx(docxParagraph('words'));
    expect((await read(letter, 'a.docx')).lines).toEqual([['words', null]]);
    expect((await read(letter, 'a.docx', 'always')).lines).toEqual([
      ['words', null],
      ['picture 90 x 60', null],
    ]);
  });

  test('a slide without text, under a heading of its own; a picture of several slides is read once', async () => {
    const slides = makePptx([pptxShape('title', 'One'), '', pptxShape('title', 'Three')]);
    // The first slide has the last file.
    const bytes = await addParts(slides, {
      'ppt/slides/_rels/slide3.xml.rels': relationshipsOf({ '../media/logo.png': 'image' }),
      'ppt/slides/_rels/slide2.xml.rels': relationshipsOf({ '../media/scan.png': 'image' }),
      'ppt/slides/_rels/slide1.xml.rels': relationshipsOf({ '../media/logo.png': 'image' }),
      'ppt/media/logo.png': png(70),
      'ppt/media/scan.png': png(90),
    });
    const auto = await read(bytes, 'a.pptx');
    expect(auto.lines).toEqual([
      ['One', 1],
      ['Slide 2', 2],
      ['picture 90 x 60', 2],
      ['Three', 3],
    ]);
    expect(auto.recognisedPages).toEqual([2]);
    expect((await read(bytes, 'a.pptx', 'always')).lines).toEqual([
      ['One', 1],
      ['picture 70 x 60', 1],
      ['Slide 2', 2],
      ['picture 90 x 60', 2],
      ['Three', 3],
    ]);
  });

  test('a sheet without cells', async () => {
    const bytes = await addParts(makeXlsx({ Scan: '', Data: '<row><c><v>5</v></c></row>' }), {
      'xl/worksheets/_rels/sheet1.xml.rels': relationshipsOf({ '../drawings/drawing1.xml': 'drawing' }),
      'xl/drawings/drawing1.xml': '<wsDr/>',
      'xl/drawings/_rels/drawing1.xml.rels': relationshipsOf({ '../media/a.png': 'image' }),
      'xl/media/a.png': png(90),
    });
    expect((await read(bytes, 'a.xlsx')).lines).toEqual([
      ['Scan', 1],
      ['picture 90 x 60', 1],
      ['Data', 2],
      ['5', 2],
    ]);
  });

  test('an OpenDocument text without text, and a slide without text', async () => {
    const image = (name: string) =>
      `<draw:frame><draw:image xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="${name}"/></draw:frame>`;
    const text = makeOdf('text', `<office:text><text:p>${image('Pictures/a.png')}</text:p></office:text>`);
    const odt = await addParts(text, { 'Pictures/a.png': png(90) });
    expect((await read(odt, 'a.odt')).lines).toEqual([['picture 90 x 60', null]]);
    const title =
      '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>One</text:p></draw:text-box></draw:frame></draw:page>';
    const slides = makeOdf(
      'presentation',
      `<office:presentation>${title}<draw:page>${image('Pictures/b.png')}</draw:page></office:presentation>`,
    );
    expect((await read(await addParts(slides, { 'Pictures/b.png': png(80) }), 'a.odp')).lines).toEqual([
      ['One', 1],
      ['Slide 2', 2],
      ['picture 80 x 60', 2],
    ]);
  });

  test('Hancom documents, also with compressed pictures', async () => {
    const hwpx = await addParts(makeHwpx([hwpxParagraph('')]), { 'BinData/image1.png': png(90) });
    expect((await read(hwpx, 'a.hwpx')).lines).toEqual([['picture 90 x 60', null]]);
    const embedded = (number: number, compression: number) => {
      const data = Buffer.alloc(12);
      data.writeUInt16LE(1 | (compression << 4), 0);
      data.writeUInt16LE(number, 2);
      data.writeUInt16LE(3, 4);
      data.write('png', 6, 'utf16le');
      return hwpRecord(2, 0, data);
    };
    const info = deflateRawSync(hwpStream([embedded(1, 0), embedded(10, 2)]));
    const hwp = makeHwp([hwpParagraph('words')], {
      streams: { DocInfo: info, 'BinData/BIN0001.png': deflateRawSync(png(90)), 'BinData/BIN000A.png': png(80) },
    });
    expect((await read(hwp, 'a.hwp', 'always')).lines).toEqual([
      ['words', null],
      ['picture 90 x 60', null],
      ['picture 80 x 60', null],
    ]);
  });
});

test('a picture that cannot be read is named, and the text is kept', async () => {
  const bytes = await docx(docxParagraph('words'));
  const refuse = async () => {
    throw new ExtractError('corrupt', 'cannot be read');
  };
  const document = await extract(bytes, 'a.docx', refuse, { strategy: 'always' });
  expect(document).toMatchObject({ text: 'words', failedPages: [], skipped: [{ name: 'a.png', category: 'corrupt' }] });
});

describe('pictures of pages', () => {
  test('a chapter of a book without text, also in a drawing', async () => {
    const book = await addParts(
      makeEpub({
        'a.xhtml': '<p>words</p><img src="../img/b.png"/>',
        'b.xhtml': '<img src="../img/a.png"/>',
        'c.xhtml':
          '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><image xlink:href="../img/c.png"/></svg>',
      }),
      { 'OEBPS/img/a.png': png(90), 'OEBPS/img/b.png': png(70), 'OEBPS/img/c.png': png(80) },
    );
    const textsOf = async (strategy?: 'always') => (await read(book, 'a.epub', strategy)).lines.map(([text]) => text);
    const found = (await textsOf()).filter((text) => /picture|words/.test(String(text)));
    expect(found).toEqual(['words', 'picture 90 x 60', 'picture 80 x 60']);
    expect(await textsOf('always')).toContain('picture 70 x 60');
  });

  test('a chapter that is a picture or a drawing, or has its picture in an address', async () => {
    const inline = `<img src="data:image/png;base64,${png(70).toString('base64')}"/>`;
    const book = await addParts(
      makeEpub({ 'a.xhtml': inline }, { spine: { 'img/p.png': 'image/png', 'img/d.svg': 'image/svg+xml' } }),
      {
        'OEBPS/img/p.png': png(90),
        'OEBPS/img/c.png': png(80),
        'OEBPS/img/d.svg': '<svg xmlns="http://www.w3.org/2000/svg"><image href="c.png"/></svg>',
      },
    );
    const found = (await read(book, 'a.epub')).lines.map(([text]) => text).filter((text) => text !== 'The book');
    expect(found).toEqual(['picture 70 x 60', 'picture 90 x 60', 'picture 80 x 60']);
  });

  test('a page of HTML without text, whose pictures are inside', async () => {
    const inline = (width: number) => `<img src="data:image/png;base64,${png(width).toString('base64')}">`;
    const page = (body: string) => Buffer.from(`<!doctype html><html><body>${body}</body></html>`);
    const elsewhere = '<img src="https://example.com/a.png"><img src="data:image/svg+xml,x"><img>';
    const scan = await read(page(inline(90) + elsewhere + inline(70)), 'a.html');
    expect(scan.lines.map(([text]) => text)).toEqual(['picture 90 x 60', 'picture 70 x 60']);
    const escaped = inline(80).replaceAll('+', '%2B').replaceAll('/', '%2F').replaceAll('=', '%3D');
    const address = escaped.replace('src%3D', 'src=').replace('image%2Fpng', 'image/png');
    expect((await read(page(address), 'a.html')).lines).toEqual([['picture 80 x 60', null]]);
    expect((await read(page(`<p>words</p>${inline(90)}`), 'a.html')).lines).toEqual([['words', null]]);
    expect((await read(page(`<p>words</p>${inline(90)}`), 'a.html', 'always')).lines).toEqual([
      ['words', null],
      ['picture 90 x 60', null],
    ]);
  });

  test('a Rich Text document without text', async () => {
    const picture = (width: number) => {
      const digits = png(width)
        .toString('hex')
        .replaceAll(/(.{64})/g, '$1\r\n');
      return `{\\*\\shppict{\\pict{\\*\\picprop}\\picwgoal300\\pngblip\\bliptag7 ${digits}}}{\\nonshppict{\\pict\\wmetafile8 0100}}`;
    };
    const scan = Buffer.from(`{\\rtf1\\ansi ${picture(90)}\\par ${picture(70)}}`);
    expect((await read(scan, 'a.rtf')).lines).toEqual([
      ['picture 90 x 60', null],
      ['picture 70 x 60', null],
    ]);
    const data = png(80);
    const binary = Buffer.concat([
      Buffer.from(`{\\rtf1\\ansi {\\pict\\pngblip\\picw80\\bin${data.length} `),
      data,
      Buffer.from('}}'),
    ]);
    expect((await read(binary, 'a.rtf')).lines).toEqual([['picture 80 x 60', null]]);
    const letter = Buffer.from(`{\\rtf1\\ansi words\\par ${picture(90)}}`);
    expect((await read(letter, 'a.rtf')).lines).toEqual([['words', null]]);
    const broken = Buffer.from('{\\rtf1\\ansi {\\pict\\jpegblip zz}}');
    expect((await read(broken, 'a.rtf')).lines).toEqual([]);
  });
});
