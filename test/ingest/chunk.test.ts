import { expect, test } from 'vitest';
import { chunkDocument } from '../../src/ingest/chunk.ts';
import type { Chunk } from '../../src/ingest/chunk-packer.ts';
import { type AssembledText, type BlockDraft, TextAssembler } from '../../src/ingest/extract/blocks.ts';
import { segmentSentences } from '../../src/language/sentences.ts';

/** Token counter with one token per word. */
const countWords = (text: string) => text.match(/\S+/g)?.length ?? 0;

function assemble(drafts: readonly BlockDraft[]): AssembledText {
  const assembler = new TextAssembler({ blocksMax: 1e6, textCharsMax: 1e9 });
  for (const draft of drafts) assembler.add(draft);
  return assembler.takeWindow();
}

const heading = (text: string, level = 1): BlockDraft => ({ kind: 'heading', text, level });
const paragraph = (text: string, page?: number): BlockDraft => ({
  kind: 'paragraph',
  text,
  ...(page === undefined ? {} : { page }),
});

/** Text of `count` sentences of `words` words each, all different. */
function sentences(count: number, words: number, name = 'w'): string {
  return Array.from({ length: count }, (_, i) => `S${`${name}${i} `.repeat(words).trim()}.`).join(' ');
}

function chunkWords(drafts: readonly BlockDraft[], chunkTokens: number, overlapTokens: number): Chunk[] {
  return chunkDocument(assemble(drafts), { chunkTokens, overlapTokens, countTokens: countWords });
}

test('a short document is one chunk, with its headings and its position', () => {
  const document = assemble([heading('Handbook'), heading('Tests', 2), paragraph('One sentence. Another one.', 3)]);
  expect(chunkDocument(document, { countTokens: countWords })).toEqual([
    {
      index: 0,
      text: document.text,
      tokenCount: 6,
      locator: { page: null, page_end: 3, heading_path: ['Handbook', 'Tests'], start: 0, end: document.text.length },
    },
  ]);
});

test('an empty document has no chunks', () => {
  expect(chunkDocument(assemble([]), { countTokens: countWords })).toEqual([]);
});

test('headings without any text after them are kept', () => {
  const [chunk] = chunkWords([heading('Alone'), heading('Below', 2)], 50, 5);
  expect(chunk).toMatchObject({ text: 'Alone\n\nBelow', locator: { heading_path: ['Alone', 'Below'] } });
});

test('a heading ends the previous heading of the same level', () => {
  const chunks = chunkWords(
    [
      heading('A'),
      heading('B', 2),
      paragraph(sentences(3, 5, 'b')),
      heading('C', 2),
      paragraph(sentences(3, 5, 'c')),
      heading('D'),
      paragraph(sentences(3, 5, 'd')),
    ],
    20,
    0,
  );
  expect(chunks.map(({ locator }) => locator.heading_path)).toEqual([['A', 'B'], ['A', 'C'], ['D']]);
});

test('chunks end at sentences and repeat whole ones', () => {
  const chunks = chunkWords([paragraph(sentences(10, 5))], 20, 10);
  expect(chunks.map(({ text }) => text.match(/Sw\d+/g))).toEqual([
    ['Sw0', 'Sw1', 'Sw2', 'Sw3'],
    ['Sw2', 'Sw3', 'Sw4', 'Sw5'],
    ['Sw4', 'Sw5', 'Sw6', 'Sw7'],
    ['Sw6', 'Sw7', 'Sw8', 'Sw9'],
  ]);
  expect(chunks.map(({ tokenCount }) => tokenCount)).toEqual([20, 20, 20, 20]);
});

test('a heading opens a chunk when the current one is an eighth full, and repeats no sentence of it', () => {
  const chunks = chunkWords(
    [
      paragraph('Just two.'),
      heading('Next'),
      paragraph(sentences(2, 4, 'b')),
      heading('Last'),
      paragraph('Few words.'),
    ],
    24,
    10,
  );
  // 2 of 24 tokens are less than an eighth; 11 are more.
  expect(chunks.map(({ text }) => text.split('\n\n').length)).toEqual([3, 2]);
  expect(chunks[1]?.text).toBe('Last\n\nFew words.');
});

test('a heading on another page opens a chunk', () => {
  const chunks = chunkWords(
    [
      { ...paragraph('One.'), page: 1 },
      { ...heading('Next'), page: 2 },
      { ...paragraph('Two.'), page: 2 },
    ],
    100,
    10,
  );
  expect(chunks.map(({ locator }) => [locator.page, locator.page_end])).toEqual([
    [1, 1],
    [2, 2],
  ]);
});

test('a heading begins a new chunk together with the text after it when both do not fit any more', () => {
  const chunks = chunkWords(
    [paragraph(sentences(1, 8, 'a')), heading('Next'), paragraph(sentences(1, 12, 'b'))],
    20,
    0,
  );
  expect(chunks.map(({ text }) => text.startsWith('Next'))).toEqual([false, true]);
});

test('a paragraph that would be cut begins a new chunk when the current one is three quarters full', () => {
  const chunks = chunkWords([paragraph(sentences(4, 4, 'a')), paragraph(sentences(3, 2, 'b'))], 20, 0);
  expect(chunks.map(({ tokenCount }) => tokenCount)).toEqual([16, 6]);
});

test('a table and a listing that fit are kept whole, others are cut at their lines', () => {
  const rows = (count: number) => Array.from({ length: count }, (_, i) => `row${i} | a | b`).join('\n');
  const whole = chunkWords([paragraph(sentences(2, 5)), { kind: 'table', text: rows(3) }], 20, 4);
  expect(whole.map(({ text }) => text.includes('row0'))).toEqual([false, true]);
  expect(whole[1]?.text).toBe(rows(3));

  const cut = chunkWords([{ kind: 'code', text: rows(7) }], 20, 5);
  expect(cut.map(({ text }) => text.split('\n').length)).toEqual([4, 3]);
});

test('a table that fits only without its heading is cut instead of separated from the heading', () => {
  const rows = Array.from({ length: 4 }, (_, i) => `row${i} a b c d`).join('\n');
  const [first] = chunkWords([heading('Scores'), { kind: 'table', text: rows }], 20, 0);
  expect(first?.text).toMatch(/^Scores\n\nrow0/);
});

test('a sentence that exceeds the budget is cut at a line, a clause, a word or a character', () => {
  const lines = chunkWords([paragraph(`${'word '.repeat(15)}\n${'word '.repeat(12)}end.`)], 20, 5);
  expect(lines.map(({ tokenCount }) => tokenCount)).toEqual([15, 13]);
  const clauses = chunkWords([paragraph(`${'word '.repeat(14)}word, ${'word '.repeat(12)}end.`)], 20, 5);
  expect(clauses.map(({ tokenCount }) => tokenCount)).toEqual([15, 13]);
  const words = chunkWords([paragraph(`${'word '.repeat(30)}end.`)], 20, 5);
  expect(words.map(({ tokenCount }) => tokenCount)).toEqual([20, 11]);
  const characters = chunkDocument(assemble([paragraph('😀'.repeat(100))]), {
    chunkTokens: 20,
    countTokens: (text) => text.length,
  });
  expect(characters.map(({ text }) => text)).toEqual(Array.from({ length: 10 }, () => '😀'.repeat(10)));
});

test('the locator of a chunk has its first and its last page', () => {
  const chunks = chunkWords(
    [paragraph(sentences(2, 5), 1), paragraph(sentences(2, 5), 2), paragraph(sentences(2, 5), 3)],
    20,
    0,
  );
  expect(chunks.map(({ locator }) => [locator.page, locator.page_end])).toEqual([
    [1, 2],
    [3, 3],
  ]);
});

test('chunks of text with almost no tokens are bounded by characters', () => {
  const document = assemble([paragraph(`start${' \u200b'.repeat(50_000)}end`)]);
  const chunks = chunkDocument(document, { chunkTokens: 50, countTokens: () => 1 });
  expect(Math.max(...chunks.map(({ text }) => text.length))).toBeLessThanOrEqual(50 * 32);
});

test.each([
  [
    'Dr. Smith et al. saw it (Fig. 3). It was 3.5 percent!',
    ['Dr. Smith et al. saw it (Fig. 3).', 'It was 3.5 percent!'],
  ],
  ['Wrapped at\nany place. "Quoted." Then more', ['Wrapped at\nany place.', '"Quoted."', 'Then more']],
  [
    '검색은 분석이 중요하다. 두 번째입니다! 3.5%인가요? 네',
    ['검색은 분석이 중요하다.', '두 번째입니다!', '3.5%인가요?', '네'],
  ],
  ['一つ目の文。二つ目。', ['一つ目の文。', '二つ目。']],
  ['   \n ', []],
])('the text %j is divided into sentences', (text, expected) => {
  expect(segmentSentences(text).map(({ start, end }) => text.slice(start, end))).toEqual(expected);
});

test('sentences are independent of the length of the block', () => {
  const one = 'The boundary layer remains laminar. Korean: 검색은 중요하다. ';
  const found = segmentSentences(one.repeat(10_000));
  expect(found).toHaveLength(20_000);
  expect(new Set(found.map(({ start, end }) => end - start)).size).toBe(2);
});

test('a section that does not fit into a chunk with a small one before it has chunks of its own', () => {
  const small = [heading('Small'), paragraph('Two.')];
  const fits = chunkWords([...small, heading('Whole'), paragraph(sentences(2, 7, 'a'))], 24, 4);
  expect(fits).toHaveLength(1);
  expect(fits[0]?.locator.places).toEqual([
    { start: 0, page: null, heading_path: ['Small'] },
    { start: 13, page: null, heading_path: ['Whole'] },
  ]);
  const long = chunkWords([...small, heading('Long'), paragraph(sentences(8, 7, 'b'))], 24, 4);
  expect(long.map(({ locator }) => locator.heading_path)).toEqual([['Small'], ...long.slice(1).map(() => ['Long'])]);
  expect(long.every(({ locator }) => locator.places === undefined)).toBe(true);
});

test('the rest of a section is never in one chunk with the next section', () => {
  const chunks = chunkWords(
    [heading('A'), paragraph(`${sentences(8, 6, 'a')} So it ends.`), heading('B'), paragraph('Few.')],
    50,
    0,
  );
  expect(chunks.map(({ locator }) => locator.heading_path)).toEqual([['A'], ['A'], ['B']]);
});

test('a chunk never has text of two files, sheets or slides, or boilerplate beside other text', () => {
  const parts = [
    { file: 'a.txt' },
    { file: 'b.txt' },
    { file: 'b.txt', sheet: 'One' },
    { file: 'b.txt', sheet: 'Two' },
    { slide: 1 },
    { slide: 2 },
    { boilerplate: true },
    {},
  ];
  const chunks = chunkWords(
    parts.flatMap((part, at) => [
      { ...heading(`Part ${at}`), ...part },
      { ...paragraph(`Text ${at}.`), ...part },
    ]),
    100,
    20,
  );
  expect(chunks.map(({ text }) => text)).toEqual(parts.map((_, at) => `Part ${at}\n\nText ${at}.`));
  expect(chunks.map(({ locator }) => locator)).toMatchObject(parts);
});

test('a chunk of rows has the header of its table unless the header is in it', () => {
  const rows = Array.from({ length: 9 }, (_, i) => `r${i} | a | b`);
  const table: BlockDraft = { kind: 'table', text: ['id | x | y', ...rows].join('\n'), header: 'id | x | y' };
  const chunks = chunkWords([paragraph('Before it.'), table, paragraph('After it.')], 20, 4);
  expect(chunks.length).toBeGreaterThan(2);
  expect(chunks[0]?.text).toContain('id | x | y');
  expect(chunks.map(({ locator }) => locator.table_header)).toEqual([
    undefined,
    ...chunks.slice(1).map(() => 'id | x | y'),
  ]);
});
