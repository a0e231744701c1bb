import { expect, test } from 'vitest';
import { parseRowTemplate, type RowTemplate } from '../../src/memory/template.ts';

const parse = (template: string) => parseRowTemplate(template) as RowTemplate;

test('a template inserts the values of columns', () => {
  const template = parse('{{title}}\n\n{{ body }} ({{title}})');
  expect(template.columns).toEqual(['title', 'body']);
  expect(template.render({ title: 'A', body: null })).toBe('A\n\n (A)');
});

test.each([
  ['no columns', /at least one column/],
  ['{{}}', /without the name/],
  ['{{a}} }}', /unbalanced/],
  ['{{b}}'.repeat(1_100), /must name \{\{b\}\} at most 4 times/],
  ['{{a}}{{ b }}'.repeat(5), /must name \{\{a\}\} at most 4 times/],
])('%s is refused', (template, fault) => {
  expect(parseRowTemplate(template)).toMatchObject({ fault: expect.stringMatching(fault) });
});

test('the text of a row is at most four times the row, plus the template', () => {
  const template = '{{a}} {{b}} '.repeat(4);
  const row = { a: 'x'.repeat(1_000_000), b: 'y'.repeat(2_000_000) };
  expect(parse(template).render(row).length).toBeLessThanOrEqual(4 * 3_000_000 + template.length);
});
