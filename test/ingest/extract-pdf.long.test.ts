import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { TextWindow } from '../../src/ingest/extract/blocks.ts';
import { extractDocument, extractWindows } from '../../src/ingest/extract/extract-document.ts';
import { joinLines } from '../../src/ingest/extract/pdf-paragraphs.ts';
import {
  makeKscPdf,
  makeOnePagePdf,
  makePdf,
  makePlacedPdf,
  makeRawPdf,
  makeUnicodePdf,
  sampleParagraph,
} from '../support/sample-files.ts';

function extract(bytes: Buffer, fileName = 'paper.pdf') {
  return extractDocument({ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName });
}

test('a passage is found under its heading and on its page', async () => {
  const pdf = await makePdf([
    { heading: 'Introduction', paragraphs: [sampleParagraph('glider'), sampleParagraph('rotor')] },
    {},
    { heading: 'Results', paragraphs: [sampleParagraph('propeller')] },
  ]);
  const document = await extract(pdf);
  expect(document).toMatchObject({ format: 'pdf', pages: 3, emptyPages: [2], failedPages: [] });
  expect(document.blocks).toMatchObject([
    { kind: 'heading', level: 1, text: 'Introduction', page: 1 },
    { kind: 'paragraph', text: sampleParagraph('glider'), page: 1 },
    { kind: 'paragraph', text: sampleParagraph('rotor'), page: 1 },
    { kind: 'heading', level: 1, text: 'Results', page: 3 },
    { kind: 'paragraph', text: sampleParagraph('propeller'), page: 3 },
  ]);
  for (const block of document.blocks) expect(document.text.slice(block.start, block.end)).toBe(block.text);
});

test('the level of a heading is the rank of its size', async () => {
  const sizes = [24, 10, 14, 10, 18, 10];
  const document = await extract(
    makePlacedPdf(
      sizes.map((size, i) => ({
        x: 72,
        y: 700 - i * 60,
        size,
        text: size === 10 ? `${sampleParagraph('wing').slice(0, 90)}` : `Heading ${size}`,
      })),
    ),
  );
  expect(document.blocks.map(({ kind, level }) => `${kind}${level ?? ''}`)).toEqual([
    'heading1',
    'paragraph',
    'heading3',
    'paragraph',
    'heading2',
    'paragraph',
  ]);
});

test('two columns drawn in any order are read one after the other, below their title', async () => {
  const right = ['Right column, first line of it,', 'second line of the right.'];
  const left = ['Left column, first line of it,', 'second line of the left.'];
  const document = await extract(
    makePlacedPdf([
      ...right.map((text, i) => ({ x: 330, y: 600 - i * 13, size: 11, text })),
      ...left.map((text, i) => ({ x: 72, y: 600 - i * 13, size: 11, text })),
      { x: 72, y: 700, size: 20, text: 'A title across both of the columns' },
    ]),
  );
  expect(document.blocks.map(({ text }) => text)).toEqual([
    'A title across both of the columns',
    left.join(' '),
    right.join(' '),
  ]);
});

test('a bullet begins a list item, and a wide gap or an indent begins a paragraph', async () => {
  const line = (y: number, text: string, x = 72) => ({ x, y, size: 11, text });
  const document = await extract(
    makePlacedPdf([
      line(700, 'The first paragraph has a line that is rather long, and'),
      line(687, 'another one which is short.'),
      line(674, 'An indented line begins the second paragraph of the text,', 94),
      line(661, 'which goes on here and does not end before this.'),
      line(630, '- one item'),
      line(617, '- another item'),
    ]),
  );
  expect(document.blocks.map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    'paragraph: The first paragraph has a line that is rather long, and another one which is short.',
    'paragraph: An indented line begins the second paragraph of the text, which goes on here and does not end before this.',
    'list_item: - one item',
    'list_item: - another item',
  ]);
});

test.each([
  [['a divi-', 'ded word'], 'a divided word'],
  [['soft\u00ad', 'ware'], 'software'],
  [['the Navier-', 'Stokes equations'], 'the Navier-Stokes equations'],
  [['pages 10-', '12'], 'pages 10-12'],
  [['minus -', 'sign'], 'minus - sign'],
  [['한국어 문서를', '검색한다'], '한국어 문서를 검색한다'],
  [['日本語の文', '書を読む'], '日本語の文書を読む'],
])('the lines %j are joined to %j', (lines, text) => {
  expect(joinLines(lines)).toBe(text);
});

test('Korean text is read by the character map in the file', async () => {
  const lines = ['한국어 문서 검색은 형태소 분석이', '중요하다. 두 번째 문장도 있다.'];
  expect((await extract(makeUnicodePdf(lines))).text).toBe(lines.join(' '));
});

test('Korean text in a predefined encoding is read', async () => {
  expect((await extract(makeKscPdf('c7d1b1dbb9aebcad'))).text).toBe('한글문서');
});

test('a PDF of many pages keeps every page number', async () => {
  const pages = Array.from({ length: 120 }, (_, i) => ({
    heading: `Part ${i + 1}`,
    paragraphs: [sampleParagraph(`item ${i + 1}`)],
  }));
  const document = await extract(await makePdf(pages));
  expect(document.pages).toBe(120);
  const headings = document.blocks.filter(({ kind }) => kind === 'heading');
  expect(headings.map(({ text, page }) => [text, page])).toEqual(pages.map(({ heading }, i) => [heading, i + 1]));
});

test('a PDF that needs a password ends as encrypted, and one with restrictions only is read', async () => {
  const pages = [{ heading: 'Secret', paragraphs: ['words'] }];
  await expect(extract(await makePdf(pages, { userPassword: 'open sesame' }))).rejects.toMatchObject({
    category: 'encrypted',
    retryable: false,
    message: 'the PDF is protected by a password; remove the password and upload it again',
  });
  expect((await extract(await makePdf(pages, { ownerPassword: 'change me' }))).text).toContain('Secret');
});

test.each<[string, Buffer]>([
  ['only a header', Buffer.from('%PDF-1.7\n')],
  ['a header and garbage', Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(5000, 0x9c)])],
])('a PDF with %s ends as corrupt', async (_, bytes) => {
  await expect(extract(bytes)).rejects.toMatchObject({ category: 'corrupt', retryable: false });
});

test('a PDF with a wrong offset of its object table is recovered', async () => {
  const whole = (await makePdf([{ heading: 'Title', paragraphs: ['words'] }])).toString('latin1');
  const damaged = Buffer.from(whole.replace(/startxref\n\d+/, 'startxref\n7'), 'latin1');
  expect((await extract(damaged)).text).toBe('Title\n\nwords');
});

test('a PDF that is cut off before its catalog ends as corrupt', async () => {
  const whole = await makePdf([{ heading: 'Title', paragraphs: ['words'] }]);
  await expect(extract(whole.subarray(0, 200))).rejects.toMatchObject({ category: 'corrupt' });
});

test('a PDF page that cannot be read is reported, and the other pages are read', async () => {
  const page = (content: number) =>
    `/Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${content} 0 R/Resources<</Font<</F1 6 0 R>>>>`;
  const text = (words: string) => ({ dict: '', stream: Buffer.from(`BT /F1 11 Tf 72 700 Td (${words}) Tj ET`) });
  const damaged = makeRawPdf([
    { dict: '/Type/Catalog/Pages 2 0 R' },
    { dict: '/Type/Pages/Kids[3 0 R 8 0 R 5 0 R]/Count 3' },
    { dict: page(4) },
    text('before'),
    { dict: page(7) },
    { dict: '/Type/Font/Subtype/Type1/BaseFont/Helvetica' },
    text('after'),
    // This node refers to a page that does not exist.
    { dict: '/Type/Pages/Parent 2 0 R/Kids[99 0 R]/Count 1' },
  ]);
  const document = await extract(damaged);
  expect(document).toMatchObject({ pages: 3, failedPages: [2], emptyPages: [] });
  expect(document.blocks.map(({ text, page }) => [text, page])).toEqual([
    ['before', 1],
    ['after', 3],
  ]);
});

test('the first pages of a PDF are passed on before the last ones are read', async () => {
  const paragraphs = Array.from({ length: 6 }, (_, i) => sampleParagraph(`item ${i + 1}`));
  const pages = Array.from({ length: 120 }, () => ({ paragraphs }));
  const pdf = await makePdf(pages);
  const file = { open: () => Readable.from([pdf]), sizeBytes: pdf.length, fileName: 'book.pdf' };
  const seen: number[][] = [];
  const take = async ({ blocks }: TextWindow) => {
    seen.push(blocks.map(({ page = 0 }) => page));
  };
  await extractWindows(file, take, 5_000);
  expect(seen.length).toBeGreaterThan(1);
  expect(seen[0]?.at(-1)).toBeLessThanOrEqual(50);
  expect(seen.flat()).toEqual(pages.flatMap((_, i) => paragraphs.map(() => i + 1)));
});

test('a PDF page with damaged content is empty', async () => {
  const bad = makeOnePagePdf(
    { dict: '/Filter/FlateDecode', stream: Buffer.from('not deflated') },
    { dict: '/Type/Font' },
  );
  expect(await extract(bad)).toMatchObject({ pages: 1, text: '', emptyPages: [1] });
});
