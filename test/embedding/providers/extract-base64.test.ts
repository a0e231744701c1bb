import { describe, expect, test } from 'vitest';
import { extractBase64 } from '../../../src/embedding/providers/protocols/extract-base64.ts';
import { parseOpenAiShape } from '../../../src/embedding/providers/protocols/openai.ts';

const expected = { count: 2, dimensions: 2 };
const rows = [
  [0.6, 0.8],
  [1, 0],
];
const base64 = (row: readonly number[]) => Buffer.from(new Float32Array(row).buffer).toString('base64');
const bytes = (text: string) => new TextEncoder().encode(text);
const parse = (text: string) => parseOpenAiShape({ headers: {}, body: bytes(text) }, expected).vectors;
const items = rows.map((row, index) => ({ object: 'embedding', index, embedding: base64(row) }));

describe('extracting base64 from an answer', () => {
  test('extracted base64 gives the same vectors as the JSON parser, for any white space, order and padding', () => {
    const answers = [
      JSON.stringify({ data: items, usage: { prompt_tokens: 3 } }),
      JSON.stringify({ data: items.toReversed() }, null, 2),
      JSON.stringify({ data: items.map((item) => ({ ...item, embedding: item.embedding.replace(/=+$/, '') })) }),
    ];
    for (const text of answers) {
      expect(extractBase64(bytes(text), expected)).not.toBeNull();
      expect([...parse(text)]).toEqual([...new Float32Array(rows.flat())]);
    }
  });

  test('answers of an unexpected form are left to the JSON parser', () => {
    const strange = [
      JSON.stringify({ data: items.slice(1) }),
      JSON.stringify({ data: [...items, items[0]] }),
      JSON.stringify({ data: items.map((item) => ({ ...item, embedding: 'AAAA' })) }),
      JSON.stringify({ data: rows.map((embedding, index) => ({ index, embedding })) }),
      `${JSON.stringify({ data: items })} trailing`,
      '<html>"embedding":"',
      '',
    ];
    for (const text of strange) expect(extractBase64(bytes(text), expected)).toBeNull();
  });

  test('the member name inside other strings and members is not mistaken for the member', () => {
    const tricky = JSON.stringify({ note: '"embedding":"', meta: { embedding: null }, data: items });
    expect([...parse(tricky)]).toEqual([...new Float32Array(rows.flat())]);
    const elsewhere = JSON.stringify({ extra: { embedding: base64([1, 1]) }, data: items });
    expect([...parse(elsewhere)]).toEqual([...new Float32Array(rows.flat())]);
    const number = `{"data":[{"index":0,"embedding":1},{"index":1,"embedding":"${base64([1, 0])}"}],"x":{"embedding":"${base64([0, 1])}"}}`;
    expect(() => parse(number)).toThrow();
  });

  test('escaped slashes are read by the JSON parser', () => {
    const slashed = [{ object: 'embedding', index: 0, embedding: '//8/P///P78=' }, items[1]];
    const text = JSON.stringify({ data: slashed });
    expect(text.replaceAll('/', '\\/')).not.toBe(text);
    expect([...parse(text.replaceAll('/', '\\/'))]).toEqual([...parse(text)]);
  });
});
