import stringWidth from 'string-width';
import { expect, test } from 'vitest';
import { type Column, formatBytes, renderFields, renderTable } from '../../src/cli/table.ts';

interface Row {
  readonly id: string;
  readonly name: string | null;
}

const columns: Column<Row>[] = [
  ['id', (row) => row.id],
  ['name', (row) => row.name, 'may be cut'],
  ['last', () => 'end'],
];

test('columns are aligned in terminal cells, of which a Korean letter takes two', () => {
  const table = renderTable(
    [
      { id: '휴가 정책', name: 'a' },
      { id: 'plain', name: '연차' },
    ],
    columns,
    null,
  );
  const lines = table.split('\n');
  expect(lines[0]).toBe('ID         NAME  LAST');
  expect(lines[1]).toBe('휴가 정책  a     end');
  expect(lines[2]).toBe('plain      연차  end');
});

test('only columns that may be cut are cut to fit a terminal', () => {
  const rows = [{ id: 'doc_0123456789abcdef', name: '아주 긴 문서 이름입니다 정말로 길어요.pdf' }];
  const lines = renderTable(rows, columns, 45).split('\n');
  expect(lines[1]).toContain('doc_0123456789abcdef');
  expect(lines[1]).toContain('…');
  expect(stringWidth(lines[1] as string)).toBeLessThanOrEqual(45);
  expect(renderTable(rows, columns, null)).toContain(rows[0]?.name);
});

test('a table that does not fit however much is cut becomes a block for each row', () => {
  const wide = renderTable(
    [
      { id: 'doc_0123456789abcdef', name: 'a' },
      { id: 'doc_1', name: 'b' },
    ],
    columns,
    20,
  );
  expect(wide.split('\n\n')).toHaveLength(2);
  expect(wide).toMatch(/^id +doc_0123456789abcdef$/m);
});

test('a missing value is a dash, and control characters are replaced', () => {
  const table = renderTable([{ id: 'a\u001b[31mb\nc', name: null }], columns, null);
  expect(table.split('\n')[1]).toBe('a [31mb c  -     end');
});

test('renderFields prints one field on each line', () => {
  expect(renderFields({ id: 'x', scopes: ['a', 'b'], policy: { max: 1 }, none: null, long_name: 2 })).toBe(
    ['id         x', 'scopes     a, b', 'policy     {"max":1}', 'none       -', 'long_name  2'].join('\n'),
  );
});

test.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [1536 * 1024, '1.5 MiB'],
  [5 * 1024 ** 4, '5.0 TiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
