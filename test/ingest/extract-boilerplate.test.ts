// @ts-expect-error pdfkit ships no types
import PDFDocument from 'pdfkit';
import { expect, test } from 'vitest';
import { chunkDocument } from '../../src/ingest/chunk.ts';
import { countTokens } from '../../src/models/tokens.ts';
import { brief, extract, readHere } from '../support/read-document.ts';
import { sampleParagraph } from '../support/sample-files.ts';

interface PlacedText {
  readonly text: string;
  readonly size: number;
  readonly y: number;
  readonly x?: number;
}

/** Make a PDF with lines at given heights, in points from the upper edge. */
function makePages(pages: readonly (readonly PlacedText[])[]): Promise<Buffer> {
  const document = new PDFDocument({ autoFirstPage: false, margin: 0 });
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<void>((resolve) => document.on('end', resolve));
  for (const page of pages) {
    document.addPage();
    for (const { text, size, y, x = 72 } of page) document.fontSize(size).text(text, x, y, { lineBreak: false });
  }
  document.end();
  return done.then(() => Buffer.concat(chunks));
}

/** Lines of one paragraph from a height on. */
function body(marker: string, y: number): PlacedText[] {
  const words = sampleParagraph(marker).split(' ');
  return [0, 1, 2].map((line) => ({
    text: words.slice(line * 12, line * 12 + 12).join(' '),
    size: 11,
    y: y + line * 14,
  }));
}

test('running titles and page numbers of a PDF are removed from the pages, and one of each is kept as boilerplate', async () => {
  const pages = ['glider', 'rotor', 'flap', 'spar'].map((marker, at) => [
    { text: 'Handbook of Flight', size: 16, y: 36 },
    { text: `Chapter ${at + 1}`, size: 18, y: 120 },
    ...body(marker, 160),
    { text: `Page ${at + 1} of 4`, size: 9, y: 760 },
  ]);
  const { blocks } = await readHere(await makePages(pages), 'book.pdf');
  const headings = blocks.filter(({ kind }) => kind === 'heading').map(({ text }) => text);
  expect(headings).toEqual(['Chapter 1', 'Chapter 2', 'Chapter 3', 'Chapter 4']);
  expect(blocks.filter(({ boilerplate }) => boilerplate).map(({ text }) => text)).toEqual([
    'Handbook of Flight',
    'Page 1 of 4',
  ]);
  expect(
    brief(blocks.filter(({ kind }) => kind === 'paragraph')).filter((line) => line.includes('tested')),
  ).toHaveLength(4);
});

test('a running title of a PDF of two pages is kept once, and numbers that differ there are text', async () => {
  const pages = ['1001', '1002'].map((number, at) => [
    { text: 'Harbour office no. 7', size: 9, y: 30 },
    ...body(`pump${at}`, 160),
    { text: `Invoice ${number}`, size: 9, y: 760 },
  ]);
  const { text } = await extract(await makePages(pages), 'invoices.pdf');
  expect(text.match(/Harbour office no\. 7/g)).toHaveLength(1);
  expect(text).toMatch(/Invoice 1001[\s\S]*Invoice 1002/);
});

test('a running title stays known on the last pages of a long PDF', async () => {
  const pages = Array.from({ length: 51 }, (_, at) => [
    { text: `Handbook of Flight, page ${at + 1}`, size: 9, y: 36 },
    ...body(`rotor${at}`, 160),
  ]);
  const { text } = await extract(await makePages(pages), 'book.pdf');
  expect(text.match(/Handbook of Flight/g)).toHaveLength(1);
});

test('lines that stand in the margin of few pages, or are all of a page, stay text', async () => {
  const pages = [
    [{ text: 'Handbook of Flight', size: 11, y: 36 }, ...body('glider', 160)],
    [{ text: 'Handbook of Flight', size: 11, y: 36 }, ...body('rotor', 160)],
    [{ text: 'Blank page', size: 11, y: 36 }],
    [{ text: 'Blank page', size: 11, y: 36 }],
    [{ text: 'Blank page', size: 11, y: 36 }],
  ];
  const { blocks, text } = await extract(await makePages(pages), 'book.pdf');
  expect(text.match(/Handbook of Flight/g)).toHaveLength(2);
  expect(text.match(/Blank page/g)).toHaveLength(3);
  expect(blocks.some(({ boilerplate }) => boilerplate)).toBe(false);
});

test.each([
  'Ada B. Winter and Tom van Hout',
  'Mina Park, Jo Reed',
  'by the harbour office',
  'Institute of Tides, Busan',
  'a.winter@example.org',
])('the authors of a PDF are text below its title, not a heading (%s)', async (authors) => {
  const pdf = await makePages([
    [
      { text: 'Tides of the Eastern Harbour', size: 24, y: 90 },
      { text: authors, size: 15, y: 130 },
      { text: 'Abstract', size: 18, y: 170 },
      ...body('tide', 200),
      { text: 'Getting Started', size: 18, y: 300 },
      ...body('gauge', 330),
    ],
  ]);
  const { blocks } = await readHere(pdf, 'paper.pdf');
  expect(brief(blocks).slice(0, 3)).toEqual([
    'heading1@1: Tides of the Eastern Harbour',
    `paragraph@1: ${authors}`,
    'heading2@1: Abstract',
  ]);
  expect(brief(blocks)).toContain('heading2@1: Getting Started');
});

test('a heading in title case with the size of other sections is kept, also right below the title', async () => {
  const pdf = await makePages([
    [
      { text: 'Pump Manual', size: 24, y: 90 },
      { text: 'Getting Started', size: 15, y: 130 },
      ...body('pump', 160),
      { text: 'Storage', size: 15, y: 300 },
      ...body('valve', 330),
    ],
  ]);
  const { blocks } = await readHere(pdf, 'manual.pdf');
  expect(brief(blocks).filter((line) => line.startsWith('heading'))).toEqual([
    'heading1@1: Pump Manual',
    'heading2@1: Getting Started',
    'heading2@1: Storage',
  ]);
});

test.each([
  ['with dot leaders', (name: string, page: number) => [{ text: `${name} . . . . . . . . . . ${page}`, x: 72 }]],
  [
    'with page numbers in a column',
    (name: string, page: number) => [
      { text: name, x: 72 },
      { text: `${page}`, x: 500 },
    ],
  ],
])('a table of contents of a PDF is boilerplate in chunks of its own (%s)', async (_name, entry) => {
  const names = ['Introduction', 'Storage of the pump', 'Repair of the pump', 'Index'];
  const pdf = await makePages([
    [
      { text: 'Pump Manual', size: 24, y: 60 },
      { text: 'Contents', size: 16, y: 120 },
      ...names.flatMap((name, at) => entry(name, at + 2).map((part) => ({ ...part, size: 11, y: 160 + at * 18 }))),
    ],
    [{ text: 'Storage of the pump', size: 16, y: 120 }, ...body('pump', 160)],
  ]);
  const document = await extract(pdf, 'manual.pdf');
  const chunks = chunkDocument(document, { countTokens });
  const contents = chunks.filter(({ locator }) => locator.boilerplate);
  expect(contents).toHaveLength(1);
  for (const name of names) expect(contents[0]?.text).toContain(name);
  const [storage] = chunks.filter(({ text }) => text.includes('wind tunnel'));
  expect(storage?.locator.heading_path.at(-1)).toBe('Storage of the pump');
  expect(storage?.locator.heading_path).not.toContain('Contents');
});

test('lists of links, menus and footers of links in HTML are boilerplate, and their headings are not headings', async () => {
  const link = (name: string) => `<a href="/${name}">${name}</a>`;
  const html = `<body>
    <header class="site"><h2>Our sites</h2>${['home', 'shop', 'press'].map(link).join(' ')}</header>
    <div role="navigation">Home &gt; Pumps</div>
    <h1>Pumps</h1>
    <h2 class="page-header">${['open', 'shut', 'drain'].map(link).join(' ')}</h2>
    <p>Text with ${link('one')} link.</p>
    <div class="menu"><p>Soup of the day, bread and butter, and a glass of water.</p></div>
    <ul><li>${link('a')}</li><li>${link('b')}</li><li>${link('c')}</li><li>${link('d')}</li></ul>
    <ul><li>${link('a')} opens the valve.</li><li>${link('b')} shuts it.</li><li>${link('c')} drains it.</li></ul>
  </body>`;
  const { blocks } = await readHere(Buffer.from(html), 'page.html');
  const texts = (isBoilerplate: boolean) =>
    brief(blocks.filter((block) => (block.boilerplate === true) === isBoilerplate)).map((line) =>
      line.replace(/^.*?: /, ''),
    );
  expect(texts(true)).toEqual(['Our sites', 'home shop press', 'Home > Pumps', '- a', '- b', '- c', '- d']);
  expect(texts(false)).toEqual([
    'Pumps',
    'open shut drain',
    'Text with one link.',
    'Soup of the day, bread and butter, and a glass of water.',
    '- a opens the valve.',
    '- b shuts it.',
    '- c drains it.',
  ]);
});

test.each([
  ['main element', '<main>', '</main>'],
  ['element with the role main', '<div role="main">', '</div>'],
  ['only article with most of the text', '<article>', '</article>'],
])('everything around the %s of a page is boilerplate, but not its title', async (_what, begin, end) => {
  const text = [1, 2, 3].map((nth) => sampleParagraph(`glider${nth}`)).join(' ');
  const html = `<body><div><h1>Gliders</h1></div><div class="promo"><h2>Subscribe</h2><p>Get our letter.</p></div>
    <div class="page"><section><p>Two people read this.</p></section>
    ${begin}<p>${text}</p><aside><p>A note in the margin.</p></aside>${end}</div>
    <p>A paragraph beside it.</p><div><p>All rights reserved.</p></div></body>`;
  const { blocks } = await readHere(Buffer.from(html), 'page.html');
  const boilerplate = blocks.filter((block) => block.boilerplate === true).map((block) => block.text);
  expect(boilerplate).toEqual(['Subscribe', 'Get our letter.', 'Two people read this.', 'All rights reserved.']);
  expect(blocks.map((block) => block.text)).toContain(text);
});

test('no part of a page is boilerplate because of a small main element, or of several ones', async () => {
  const text = [1, 2, 3].map((nth) => sampleParagraph(`rotor${nth}`)).join(' ');
  const pages = [
    `<main>Read on.</main><div><p>${text}</p></div>`,
    `<main><p>${text}</p></main><main><p>${text}</p></main><div><p>${text}</p></div>`,
    `<article><p>${text}</p></article><article><p>${text}</p></article><div><p>${text}</p></div>`,
    `<article><p>${text}</p></article><div>${`<p>${text}</p>`.repeat(5)}</div>`,
  ];
  for (const page of pages) {
    const { blocks } = await readHere(Buffer.from(page), 'page.html');
    expect(blocks.filter((block) => block.boilerplate === true)).toEqual([]);
  }
});
