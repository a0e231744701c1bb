import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { decodeWindows } from '../../src/ingest/extract/data/decode-windows.ts';
import { extractDocument } from '../../src/ingest/extract/extract-document.ts';
import { brief, readHere } from '../support/read-document.ts';

const read = async (content: string | Uint8Array, name: string) =>
  brief((await readHere(Buffer.from(content), name)).blocks);

describe('csv', () => {
  test.each([
    ['commas', 'a,b\n1,2\n', 'a.csv'],
    ['semicolons', 'a;b\n1;2', 'a.csv'],
    ['tabs', 'a\tb\r\n1\t2\r\n', 'a.tsv'],
    ['bars', 'a|b\r1|2\r', 'a.csv'],
    ['a hint', 'sep=~\na~b\n1~2', 'a.csv'],
  ])('a csv file is divided by %s', async (_, content, name) => {
    expect(await read(content, name)).toEqual(['table: a | b\n1 | 2']);
  });

  test('quotes, quoted newlines and quotes in quotes are read', async () => {
    const content = 'name,say\n"Kim, Lee","a ""b""\nc"\n\n5" pipe,x "y"\n"","tail"x\n';
    expect(await read(content, 'a.csv')).toEqual(['table: name | say\nKim, Lee | a "b" c\n5" pipe | x "y"\n | tailx']);
  });

  test('newlines of several systems in one csv file all end rows', async () => {
    expect(await read('a,b\r\n1,2\n3,4\r5,"6"\r\n', 'a.csv')).toEqual(['table: a | b\n1 | 2\n3 | 4\n5 | 6']);
  });

  test('a quote in the wrong place affects only its own cell', async () => {
    expect(await read('a,b\n"x"y"z,1\n2,3\n', 'a.csv')).toEqual(['table: a | b\nxy"z | 1\n2 | 3']);
  });

  test('every block of a long csv table has the names of its columns as its header', async () => {
    const rows = Array.from({ length: 3000 }, (_, i) => `${i},"이름 ${i}",${i * 2}`);
    const { blocks } = await readHere(Buffer.from(`id,이름,값\n${rows.join('\n')}`), 'a.csv');
    expect(blocks.length).toBeGreaterThan(2);
    expect(blocks.every(({ kind, header }) => kind === 'table' && header === 'id | 이름 | 값')).toBe(true);
    expect(
      brief(blocks)
        .join('\n')
        .match(/이름 \d+ \|/g),
    ).toHaveLength(3000);
    const numbers = Array.from({ length: 5000 }, (_, i) => `${i},${i}`).join('\n');
    expect((await readHere(Buffer.from(numbers), 'a.csv')).blocks.every(({ header }) => header === undefined)).toBe(
      true,
    );
  });

  test('the error of an unterminated field, or of a row of too many cells or characters, names the row', async () => {
    await expect(readHere(Buffer.from(`a,b\n"${'x\n'.repeat(600_000)}`), 'a.csv')).rejects.toMatchObject({
      category: 'corrupt',
      message: 'row 2 has a field that does not end',
    });
    await expect(readHere(Buffer.from(`a,b\n${','.repeat(20_000)}\n`), 'a.csv')).rejects.toMatchObject({
      category: 'too_large',
      message: 'row 2 has more than 16384 cells',
    });
    const field = 'x'.repeat(1_000_000);
    await expect(readHere(Buffer.from(`a,b\n${`${field},`.repeat(18)}\n`), 'a.csv')).rejects.toMatchObject({
      category: 'too_large',
      message: 'row 2 has more than 16777216 characters',
    });
  });

  test('a csv file with only blanks has no table', async () => {
    expect(await read(' \n,,\n\n', 'a.csv')).toEqual([]);
  });
});

describe('json', () => {
  test('JSON records become lines of paths and values', async () => {
    const value = {
      version: 2,
      data: [
        { name: 'Kim', tags: ['a', 'b'], at: { city: '서울' } },
        { name: 'Lee', x: null },
      ],
    };
    expect(await read(JSON.stringify(value, null, 2), 'a.json')).toEqual([
      'table: version: 2\ndata.name: Kim | data.tags: a, b | data.at.city: 서울\ndata.name: Lee',
    ]);
    expect(await read('[{"a":1},{"a":"x\\n\\ty"},{"a":true}]', 'a.json')).toEqual([
      'table: a: 1',
      'paragraph: a: x\n\ty',
      'table: a: true',
    ]);
    expect(await read('[[1,2],[3,"\\u00e9\\ud83d\\ude00"]]', 'a.json')).toEqual(['table: 1, 2\n3, é😀']);
    expect(await read('"just a text"', 'a.json')).toEqual(['table: just a text']);
    expect(await read('{}', 'a.json')).toEqual([]);
  });

  test('numbers of JSON are kept as written, and duplicate keys have both values', async () => {
    expect(await read('{"a":12345678901234567890,"b":1.0,"b":1.5E+10}', 'a.json')).toEqual([
      'table: a: 12345678901234567890\nb: 1.0\nb: 1.5E+10',
    ]);
  });

  test('JSON values may follow each other, with byte order marks between them, and contain tabs and lone surrogates', async () => {
    expect(await read('{"a":"x\ty"}{"b":"\\ud800z"}\n\ufeff{"c":1} 2', 'a.jsonl')).toEqual([
      'table: a: x\ty\nb: \ud800z\nc: 1\n2',
    ]);
  });

  test('JSON Lines are read, also if the last line is incomplete', async () => {
    const lines = '{"id":1,"text":"가"}\n\n{"id":2,"text":"나"}\n{"id":3,"te';
    expect(await read(lines, 'a.jsonl')).toEqual(['table: id: 1 | text: 가\nid: 2 | text: 나\nid: 3']);
  });

  test('the result of reading JSON does not depend on the division of the stream', async () => {
    const source = JSON.stringify([{ 'a"b': [1.5e10, -0.25, true], c: { d: 'x\\"\u0001한' } }]);
    const whole = await read(source, 'a.json');
    for (let size = 1; size < 12; size++) {
      const bytes = Buffer.from(source);
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const file = { open: () => Readable.from(chunks), sizeBytes: bytes.length, fileName: 'a.json' };
      expect(brief((await extractDocument(file)).blocks), String(size)).toEqual(
        whole.map((line) => line.replace('\u0001', '')),
      );
    }
  });

  test.each([
    ['{"a":1', 'line 1: the text ends too early'],
    ['{"a" 1}', 'line 1: a value is out of place'],
    ['[1,\n2,\n}', 'line 3: "}" is out of place'],
    ['[1 2]', 'line 1: a value is out of place'],
    ['{"a":01}', 'line 1: "01" is not a value'],
    ['{"a":"x\ny"}', 'line 1: a string does not end'],
    ['{"a":"\\q"}', 'line 1: a string has an unknown escape'],
    ['[1,]', 'line 1: "]" is out of place'],
    ['{"a": 1 \u0000}', String.raw`line 1: "\u0000" is out of place`],
    ['[🎉]', 'line 1: "🎉" is out of place'],
    [`${'['.repeat(1000)}`, 'nested too deeply'],
  ])('the text %j is refused as invalid JSON', async (content, message) => {
    await expect(readHere(Buffer.from(content), 'a.json')).rejects.toMatchObject({
      category: 'corrupt',
      message: expect.stringContaining(message),
    });
  });
});

describe('windows of text', () => {
  const decode = async (bytes: Buffer, size: number) => {
    const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
      bytes.subarray(i * size, (i + 1) * size),
    );
    const windows: string[] = [];
    for await (const window of decodeWindows(Readable.from(chunks), null)) windows.push(window);
    return windows.join('');
  };
  const ascii = 'plain words, line by line\n'.repeat(20_000);

  test.each<[string, Buffer, string]>([
    ['UTF-8', Buffer.from(`${ascii}한글 끝`), `${ascii}한글 끝`],
    ['UTF-8 with a mark', Buffer.from('\ufeff한글'), '한글'],
    ['UTF-16', Buffer.from('\ufeff한글, text', 'utf16le'), '한글, text'],
    [
      'CP949 after half a megabyte of ASCII',
      Buffer.concat([Buffer.from(ascii), Buffer.from('c7d1b1dbb9aebcad20b0cbbbf6', 'hex')]),
      `${ascii}한글문서 검색`,
    ],
    ['Shift_JIS', Buffer.from('93fa967b8cea82cc95b68fcd82c582b78142', 'hex'), '日本語の文章です。'],
    ['nothing beyond ASCII', Buffer.from(ascii), ascii],
  ])('%s is decoded in windows, however the stream is divided', async (_, bytes, text) => {
    for (const size of [7, 1000, 1_000_000]) expect((await decode(bytes, size)) === text, String(size)).toBe(true);
  });
});

test('the event loop is not blocked while a long table is read', async () => {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 0);
  const content = Buffer.from(`id,text\n${'1,some words of a row\n'.repeat(500_000)}`);
  const file = { open: () => Readable.from([content]), sizeBytes: content.length, fileName: 'a.csv' };
  const { text } = await extractDocument(file);
  clearInterval(timer);
  expect(text.length).toBeGreaterThan(10_000_000);
  expect(ticks).toBeGreaterThan(20);
});
