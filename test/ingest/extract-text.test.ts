import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { BlockDraft } from '../../src/ingest/extract/blocks.ts';
import { decodeText } from '../../src/ingest/extract/decode-text.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import type { ExtractLimits } from '../../src/ingest/extract/limits.ts';
import { markdownWindows } from '../../src/ingest/extract/markdown-windows.ts';
import { readMarkdown } from '../../src/ingest/extract/read-markdown.ts';
import { SAMPLE_MARKDOWN } from '../support/sample-files.ts';
import { HOSTILE_MARKDOWN } from './hostile-markdown.ts';

function extract(content: string | Uint8Array, fileName: string, limits: Partial<ExtractLimits> = {}) {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  return extractDocument({ open: () => Readable.from([bytes]), sizeBytes: bytes.length, fileName, limits });
}

function brief(blocks: readonly BlockDraft[]): string[] {
  return blocks.map(({ kind, level, text }) => `${kind}${level ?? ''}: ${text}`);
}

const KOREAN = '한글문서 검색';
const KOREAN_CP949 = Buffer.from('c7d1b1dbb9aebcad20b0cbbbf6', 'hex');

test('plain text becomes paragraphs, each with its position in the text', async () => {
  const document = await extract(
    '\ufeffFirst line\r\nsame paragraph\r\n\r\n \t\r\nSecond\0 one\x07\n\n\n',
    'notes.txt',
  );
  expect(document).toMatchObject({ format: 'txt', pages: null, emptyPages: [], failedPages: [] });
  expect(brief(document.blocks)).toEqual(['paragraph: First line\nsame paragraph', 'paragraph: Second one']);
  expect(document.text).toBe('First line\nsame paragraph\n\nSecond one');
  for (const block of document.blocks) expect(document.text.slice(block.start, block.end)).toBe(block.text);
});

test.each<[string, Uint8Array, string, string]>([
  ['UTF-8 with a mark', Buffer.from('\ufeffnaïve'), 'naïve', 'utf-8'],
  ['UTF-16 LE with a mark', Buffer.from('\ufeffnaïve 한글', 'utf16le'), 'naïve 한글', 'utf-16le'],
  ['UTF-16 BE with a mark', Buffer.from('\ufeffnaïve 한글', 'utf16le').swap16(), 'naïve 한글', 'utf-16be'],
  ['UTF-16 LE without one', Buffer.from('plain words', 'utf16le'), 'plain words', 'utf-16le'],
  ['UTF-16 BE without one', Buffer.from('plain words', 'utf16le').swap16(), 'plain words', 'utf-16be'],
  ['Korean of the old code page', KOREAN_CP949, KOREAN, 'euc-kr'],
  [
    'Western of the old code page',
    Buffer.from('na\xefve caf\xe9 \x93x\x94', 'latin1'),
    'naïve café “x”',
    'windows-1252',
  ],
  [
    'UTF-8 with one broken byte',
    Buffer.concat([Buffer.from('한글'.repeat(99)), Buffer.from([0xff])]),
    `${'한글'.repeat(99)}\ufffd`,
    'utf-8',
  ],
])('%s is decoded', (_, bytes, text, encoding) => {
  expect(decodeText(bytes)).toEqual({ text, encoding });
});

test('a declared charset is used only if the bytes are valid in it', () => {
  expect(decodeText(KOREAN_CP949, 'euc-kr').text).toBe(KOREAN);
  expect(decodeText(Buffer.from(KOREAN), 'euc-kr').text).toBe(KOREAN);
  expect(decodeText(Buffer.from(KOREAN), 'no-such-charset').text).toBe(KOREAN);
  expect(decodeText(Buffer.from(KOREAN), 'utf-16le').text).toBe(KOREAN);
});

test('decomposed Hangul is normalised to composed Hangul', async () => {
  expect((await extract(KOREAN.normalize('NFD'), 'notes.txt')).text).toBe(KOREAN);
});

test('Markdown is read as headings, paragraphs, lists, tables and code, without their markup', async () => {
  const document = await extract(SAMPLE_MARKDOWN, 'handbook.md');
  expect(document.format).toBe('md');
  expect(brief(document.blocks)).toEqual([
    'paragraph: title: Sample',
    'heading1: Handbook',
    'paragraph: Intro with emphasis, a link and code. It goes on here.',
    'heading2: Tests',
    'list_item1: - first item',
    'list_item1: - second item',
    'list_item2: - nested item',
    'list_item1: 3. third step',
    'list_item1: 4. fourth step',
    'table: Model | Score\nalpha | 1\nbeta | 2',
    'code: const x = 1;\n\n  indented();',
    'paragraph: A quoted line.',
  ]);
  for (const block of document.blocks) expect(document.text.slice(block.start, block.end)).toBe(block.text);
});

test('only the text of HTML inside Markdown is kept', () => {
  const source =
    'a <b>bold</b> word<br>next\n\n<div>\n<!-- no -->\n<script>bad()</script>\nkept &amp; <i>plain</i>\n</div>\n';
  expect(brief([...readMarkdown(source)]).map((line) => line.replace(/\s+/g, ' ').trim())).toEqual([
    'paragraph: a bold word next',
    'paragraph: kept & plain',
  ]);
});

test('a Markdown link is resolved although its definition is in another window', () => {
  const source = `See [the manual][m].\n\n${'Filler text.\n\n'.repeat(20_000)}[m]: https://example.org/manual\n`;
  expect([...readMarkdown(source)][0]?.text).toBe('See the manual.');
});

test('windows of Markdown contain the whole text, and divide neither a fence nor a paragraph', () => {
  const code = `\`\`\`js\n${'line of code\n\n'.repeat(3000)}\`\`\`\n\n`;
  const source = `${'Some words in a paragraph\nof two lines.\n\n'.repeat(4000)}${code}# End\n`;
  const windows = [...markdownWindows(source)];
  expect(windows.length).toBeGreaterThan(2);
  expect(windows.join('')).toBe(source);
  const blocks = [...readMarkdown(source)];
  expect(blocks.filter(({ kind }) => kind === 'paragraph')).toHaveLength(4000);
  expect(blocks.filter(({ kind }) => kind === 'code')).toHaveLength(1);
  expect(blocks.at(-1)).toMatchObject({ kind: 'heading', text: 'End' });
});

test('a Markdown listing longer than a window stays code', () => {
  const source = `\`\`\`\n${'# not a heading\n\n'.repeat(40_000)}\`\`\`\n\nAfter.\n`;
  const blocks = [...readMarkdown(source)];
  expect(new Set(blocks.map(({ kind }) => kind))).toEqual(new Set(['code', 'paragraph']));
  expect(blocks.filter(({ kind }) => kind === 'paragraph')).toEqual([{ kind: 'paragraph', text: 'After.' }]);
  expect(
    blocks
      .map(({ text }) => text)
      .join('')
      .match(/# not a heading/g),
  ).toHaveLength(40_000);
});

test.each(['open links', 'nested lists'])('Markdown of a hundred thousand characters of %s is read', async (kind) => {
  const document = await extract((HOSTILE_MARKDOWN[kind] as (chars: number) => string)(100_000), 'hostile.md');
  expect(document.text.length).toBeLessThanOrEqual(110_000);
});

test('the event loop is not blocked while a long text is read', async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  const document = await extract('# Heading\n\nWords of a paragraph.\n\n'.repeat(60_000), 'long.md');
  clearInterval(timer);
  expect(document.blocks).toHaveLength(120_000);
  expect(ticks).toBeGreaterThan(3);
});

test.each<[string, Partial<ExtractLimits>]>([
  ['bytes', { textBytesMax: 1000 }],
  ['blocks', { blocksMax: 20 }],
  ['characters', { textCharsMax: 1000 }],
])('a text of too many %s is refused', async (_, limits) => {
  await expect(extract('Words of a paragraph.\n\n'.repeat(100), 'a.txt', limits)).rejects.toMatchObject({
    category: 'too_large',
    retryable: false,
  });
});

test('reading a text that takes too long ends as timeout', async () => {
  const source = 'Words of a *paragraph*.\n\n'.repeat(200_000);
  await expect(extract(source, 'a.md', { deadlineMs: 1 })).rejects.toMatchObject({ category: 'timeout' });
});

test('a text file that is shorter or longer than recorded ends as an internal error', async () => {
  for (const sizeBytes of [4, 6]) {
    const file = { open: () => Readable.from([Buffer.from('words')]), sizeBytes, fileName: 'a.txt' };
    await expect(extractDocument(file)).rejects.toMatchObject({ category: 'internal', retryable: true });
  }
});

test('an error of the store while a text is read is rethrown unchanged', async () => {
  const fault = new Error('disk on fire');
  async function* broken() {
    yield Buffer.from('some words ');
    throw fault;
  }
  const file = { open: () => Readable.from(broken()), sizeBytes: 100, fileName: 'a.txt' };
  await expect(extractDocument(file)).rejects.toBe(fault);
});

test('reading from a stalled store ends at the deadline, and on abort', async () => {
  const stalled = () => new Readable({ read() {} });
  const file = { open: stalled, sizeBytes: 100, fileName: 'a.txt' };
  await expect(extractDocument({ ...file, limits: { deadlineMs: 50 } })).rejects.toMatchObject({ category: 'timeout' });
  const controller = new AbortController();
  const reading = extractDocument({ ...file, signal: controller.signal });
  controller.abort(new Error('cancelled'));
  await expect(reading).rejects.toBe(controller.signal.reason);
});
