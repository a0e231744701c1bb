import { expect, test } from 'vitest';
import { brief, extract, readHere } from '../support/read-document.ts';

const notebook = (cells: readonly unknown[], more: object = {}) =>
  Buffer.from(JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5, ...more }));
const code = (source: string | string[], outputs: readonly unknown[] = []) => ({
  cell_type: 'code',
  execution_count: 1,
  metadata: { collapsed: false, source: 'not a source' },
  outputs,
  source,
});
const read = async (bytes: Uint8Array, name = 'a.ipynb') => brief((await readHere(bytes, name)).blocks);

test('code that stands before 2 MB of its outputs in the file stands before them in the text', async () => {
  const outputs = [{ output_type: 'stream', name: 'stdout', text: 'depth 12 m\n'.repeat(200_000) }];
  const cell = { cell_type: 'code', source: ['print(', 'depth)'], metadata: {}, outputs };
  const blocks = await read(notebook([cell, { cell_type: 'raw', source: 'the end', metadata: {} }]));
  expect(blocks[0]).toBe('code: print(depth)');
  expect(blocks.filter((block) => block.includes('print('))).toHaveLength(1);
  expect(blocks.at(-1)).toBe('paragraph: the end');
});

test('a notebook is read in a child process as the text of its cells and outputs, in order', async () => {
  const document = await extract(
    notebook([
      { cell_type: 'markdown', metadata: {}, source: ['# 항만 기록\n', '\n', '- 첫째 *항목*\n', '- 둘째'] },
      code(
        ['depth = 12\n', 'print("깊이", depth)'],
        [{ output_type: 'stream', name: 'stdout', text: ['깊이 12\n', '끝\n'] }],
      ),
      { cell_type: 'raw', metadata: {}, source: 'plain words' },
    ]),
    'notes.ipynb',
  );
  expect(document.format).toBe('ipynb');
  expect(brief(document.blocks)).toEqual([
    'heading1: 항만 기록',
    'list_item1: - 첫째 항목',
    'list_item1: - 둘째',
    'code: depth = 12\nprint("깊이", depth)',
    'code: 깊이 12\n끝',
    'paragraph: plain words',
  ]);
});

test('of the forms of an output the best text is kept, without colours, pictures and tracebacks', async () => {
  const outputs = [
    {
      output_type: 'execute_result',
      data: { 'text/html': '<b>table</b>', 'text/plain': ['   a\n', '0  1'], 'image/png': 'iVBORw0KGgo=' },
    },
    { output_type: 'display_data', data: { 'text/html': ['<p>only', '<br>html</p>'] } },
    { output_type: 'display_data', data: { 'image/svg+xml': '<svg><text>drawn</text></svg>' } },
    { output_type: 'stream', text: '\u001b[31mred\u001b[0m words' },
    { output_type: 'error', ename: 'ValueError', evalue: 'bad depth', traceback: ['\u001b[0;31m---- line 1'] },
  ];
  expect(await read(notebook([code('x', outputs)]))).toEqual([
    'code: x',
    'code: a\n0  1',
    'code: only html',
    'code: red words',
    'code: ValueError\nbad depth',
  ]);
});

test('a notebook of nbformat 3, one declared by its type, and one written with escapes are read', async () => {
  const old = {
    nbformat: 3,
    worksheets: [
      {
        cells: [
          { cell_type: 'heading', level: 2, source: ['Tides'] },
          { cell_type: 'code', input: ['tide()'], outputs: [{ output_type: 'pyout', text: ['low'] }] },
        ],
      },
    ],
  };
  expect(await read(Buffer.from(JSON.stringify(old)))).toEqual(['heading2: Tides', 'code: tide()', 'code: low']);
  const escaped = notebook([code('print("안개")')])
    .toString()
    .replace(/[^\0-\x7f]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16)}`);
  expect(await read(Buffer.from(escaped))).toEqual(['code: print("안개")']);
});

test('JSON of another purpose that is named as a notebook has no text, and broken JSON is refused with its line', async () => {
  expect(await read(Buffer.from('{"a": {"cells": [{"source": "x"}]}}'))).toEqual([]);
  await expect(read(Buffer.from('{"cells": [\n{"source": }]}'))).rejects.toMatchObject({
    category: 'corrupt',
    message: expect.stringContaining('line 2'),
  });
});

test('a notebook with fifty megabytes of outputs is read: pictures are dropped, text is kept in blocks', async () => {
  const line = `${'depth 12 m, fog, wind from the north, '.repeat(25)}\n`;
  const outputs = [
    { output_type: 'display_data', data: { 'image/png': 'A'.repeat(20 * 1024 * 1024) } },
    ...Array.from({ length: 30 }, () => ({ output_type: 'stream', text: Array.from({ length: 1000 }, () => line) })),
  ];
  const bytes = notebook([code('measure()', outputs), code('last_cell()')]);
  expect(bytes.length).toBeGreaterThan(48_000_000);
  const { blocks } = await readHere(bytes, 'big.ipynb');
  expect(Math.max(...blocks.map(({ text }) => text.length))).toBeLessThanOrEqual(16 * 1024);
  expect(blocks.map(({ text }) => text).join('').length).toBeGreaterThan(28_000_000);
  expect(blocks.at(-1)?.text).toBe('last_cell()');
});
