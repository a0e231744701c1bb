import { expect, it } from 'vitest';
import { toCsv } from '../../src/console/lib/csv.ts';

it('a table is written as CSV, and no cell of it runs as a formula', () => {
  const rows = [
    ['a "name", quoted', 1, null],
    ['=HYPERLINK("x")', -2, 'line\nbreak'],
  ];
  expect(toCsv(['name', 'count', 'note'], rows)).toBe(
    'name,count,note\r\n"a ""name"", quoted",1,\r\n"\'=HYPERLINK(""x"")",-2,"line\nbreak"',
  );
});
