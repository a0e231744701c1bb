import { expect, test } from 'vitest';
import { brief, extract, readHere } from '../support/read-document.ts';

const HEAD =
  '{\\rtf1\\ansi\\ansicpg1252\\deff0{\\fonttbl{\\f0\\fswiss Arial;}{\\f1\\fnil\\fcharset129 Batang;}}' +
  '{\\stylesheet{\\s0 Normal;}{\\s1\\outlinelevel0 heading 1;}{\\s2 heading 2;}{\\*\\cs9 heading 9 Char;}{\\s3 Title;}}';

const read = async (body: string) => brief((await readHere(Buffer.from(`${HEAD}${body}}`, 'latin1'), 'a.rtf')).blocks);

test('headings of rtf by style and by level, and paragraphs are read', async () => {
  const document = await extract(
    Buffer.from(`${HEAD}\\pard\\s1 One\\par\\pard\\s2 Two\\par\\pard\\s0 text\\par}`),
    'a.rtf',
  );
  expect(document.format).toBe('rtf');
  expect(brief(document.blocks)).toEqual(['heading1: One', 'heading2: Two', 'paragraph: text']);
  expect(await read('\\pard\\s3 Name\\par\\pard\\outlinelevel1 Part\\par\\pard plain')).toEqual([
    'heading1: Name',
    'heading3: Part',
    'paragraph: plain',
  ]);
});

test('rtf text in code pages, in Unicode and in symbols is decoded', async () => {
  expect(await read("\\f1 \\'c7\\'d1\\'b1\\'db\\f0  caf\\'e9 \\{x\\}\\~\\endash\\par")).toEqual([
    'paragraph: 한글 café {x}\u00a0–',
  ]);
  // After \u come characters for readers that do not know it: one, or as many as \uc says.
  expect(await read('\\u54620?\\uc2\\u44544??!\\uc0\\u-10179\\u-8704\\par')).toEqual(['paragraph: 한글!😀']);
  expect(await read("{\\f1\\'c7}\\'d1")).toEqual(['paragraph: \ufffdÑ']);
});

test('groups of rtf without text of the document are left out', async () => {
  const body =
    '{\\info{\\title secret}}{\\header page head\\par}{\\*\\generator x}{\\pict\\pngblip 89504e47}{\\*\\unknown gone}' +
    '\\bin5 }}}}}kept{\\v hidden}{\\deleted\\revauthdel1 gone}{\\field{\\*\\fldinst HYPERLINK "x"}{\\fldrslt link}}{\\footnote\\pard note}{\\object{\\*\\objdata 00}{\\result shown}}\\par';
  expect(await read(body)).toEqual(['paragraph: keptlinkshown', 'paragraph: note']);
});

test('lists, tables and nested tables of rtf are read', async () => {
  const row = (...cells: string[]) => `\\trowd\\pard\\intbl ${cells.map((cell) => `${cell}\\cell `).join('')}\\row`;
  expect(
    await read(
      "{\\listtext\\f3\\'b7\\tab}\\pard dot\\par{\\listtext 2.\\tab}\\pard\\ilvl1 second\\par" +
        `${row('a', 'b\\par b2')}${row('c', 'd')}\\pard after\\par` +
        '\\trowd\\pard\\intbl outer\\par\\pard\\intbl\\itap2 in\\nestcell ner\\nestcell{\\*\\nesttableprops\\nestrow}\\pard\\intbl\\cell z\\cell\\row',
    ),
  ).toEqual([
    'list_item1: - dot',
    'list_item2: 2. second',
    'table: a | b b2\nc | d',
    'paragraph: after',
    'table: outer in ner | z',
  ]);
});

test('an rtf file that is cut off or invalid gives its readable text, and an endlessly nested one ends as corrupt', async () => {
  const text = async (rtf: string) => brief((await readHere(Buffer.from(rtf, 'latin1'), 'a.rtf')).blocks);
  expect(await text('{\\rtf1 some text{\\b bold')).toEqual(['paragraph: some textbold']);
  expect(await text('{\\rtf1 some} after the end')).toEqual(['paragraph: some']);
  expect(await text("{\\rtf1 a\\'zz\\'e\\u\\bin99999999999 gone")).toEqual([expect.stringContaining('paragraph: a')]);
  await expect(text(`{\\rtf1 ${'{'.repeat(20_000)}`)).rejects.toMatchObject({ category: 'corrupt' });
});
