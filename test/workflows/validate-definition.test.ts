import { expect, test } from 'vitest';
import { faultsOf, valid } from './recording.ts';

const search = (part: Record<string, unknown> = {}) => ({
  ...{ id: 'find', type: 'search', with: { bucket: 'default', query: 'pumps' } },
  ...part,
});
const template = (id: string, text: unknown, part: Record<string, unknown> = {}) => ({
  ...{ id, type: 'template', with: { text } },
  ...part,
});

/** Definitions with one fault each, and the fault. */
const FAULTY: readonly (readonly [string, unknown, string])[] = [
  ['a definition without blocks', {}, 'blocks: is required'],
  ['an empty list of blocks', { blocks: [] }, 'blocks: must have a block'],
  ['blocks that are no list', { blocks: 'find' }, 'blocks: must be an array'],
  ['an unknown field', { blocks: [search()], steps: [] }, 'definition: unknown field "steps"'],
  ['a block that is no object', { blocks: [search(), 5] }, 'blocks[1]: must be an object'],
  ['a block without an id', { blocks: [search({ id: undefined })] }, 'blocks[0].id: is required'],
  [
    'an id in upper case',
    { blocks: [search({ id: 'Find' })] },
    'blocks[0].id: must be 1 to 64 characters of a-z 0-9 _ -',
  ],
  ['an id twice', { blocks: [search(), search()] }, 'blocks[1].id: "find" is already the id of blocks[0]'],
  [
    'an unknown block type',
    { blocks: [search({ type: 'serch' })] },
    'blocks[0].type: unknown block type "serch"; did you mean "search"?',
  ],
  [
    'a type that is a name of every object',
    { blocks: [search({ type: 'constructor' })] },
    'blocks[0].type: unknown block type "constructor"; there are search, answer, memory_search, template, condition, embed, upload_document, ' +
      'update_metadata, send_notification',
  ],
  [
    'a reference to an unknown block',
    { blocks: [search(), template('say', '{{blocks.fnd.output.results}}')] },
    'blocks[1].with.text: unknown block "fnd"; did you mean "find"?',
  ],
  [
    'a reference to an unknown input',
    { inputs: { topic: { type: 'string' } }, blocks: [template('say', 'about {{inputs.topics}}')] },
    'blocks[0].with.text: unknown input "topics"; did you mean "topic"?',
  ],
  [
    'a reference to what an output does not have',
    { blocks: [search(), template('say', '{{blocks.find.output.hits}}')] },
    'blocks[1].with.text: blocks.find.output has no "hits"',
  ],
  [
    'a path into a text',
    { blocks: [template('a', 'x'), template('b', '{{blocks.a.output.length}}')] },
    'blocks[1].with.text: blocks.a.output has no "length"',
  ],
  [
    'a reference without the word output',
    { blocks: [search(), template('say', '{{blocks.find.results}}')] },
    'blocks[1].with.text: "{{blocks.find.results}}" must be {{inputs.<name>}} or {{blocks.<id>.output}}, with a path after it if needed',
  ],
  [
    'braces that are not closed',
    { blocks: [template('say', 'a {{inputs.x')] },
    'blocks[0].with.text: has unbalanced {{ and }}',
  ],
  [
    'a number for a text',
    { blocks: [search({ with: { bucket: 'default', query: 5 } })] },
    'blocks[0].with.query: must be a string',
  ],
  [
    'a reference of a wrong type',
    { inputs: { n: { type: 'number' } }, blocks: [search({ with: { bucket: 'default', query: '{{inputs.n}}' } })] },
    'blocks[0].with.query: must be string, but {{inputs.n}} is number',
  ],
  [
    'a text with a reference for a number',
    {
      inputs: { n: { type: 'number' } },
      blocks: [search({ with: { bucket: 'default', query: 'x', top_k: '1{{inputs.n}}' } })],
    },
    'blocks[0].with.top_k: must be number, but 1{{inputs.n}} is string',
  ],
  [
    'the output of a block of a wrong type',
    { blocks: [search(), { id: 'vectors', type: 'embed', with: { texts: '{{blocks.find.output.usage}}' } }] },
    'blocks[1].with.texts: must be string or array, but {{blocks.find.output.usage}} is object',
  ],
  [
    'a reference of a wrong type inside of an argument',
    {
      inputs: { list: { type: 'array' } },
      blocks: [{ id: 'vectors', type: 'embed', with: { texts: ['a', '{{inputs.list}}'] } }],
    },
    'blocks[0].with.texts[1]: must be string, but {{inputs.list}} is array',
  ],
  [
    'a wrong value beside a reference',
    {
      inputs: { name: { type: 'string' } },
      blocks: [
        {
          id: 'send',
          type: 'send_notification',
          with: {
            ...{ channel_config_id: 'c', phone: '01012345678', template_code: 'T' },
            template_args: { name: '{{inputs.name}}', count: 5 },
          },
        },
      ],
    },
    'blocks[0].with.template_args.count: must be a string',
  ],
  [
    'a missing argument',
    { blocks: [{ id: 'find', type: 'search', with: { query: 'x' } }] },
    'blocks[0].with.bucket: is required by search',
  ],
  [
    'an argument that the type does not have',
    { blocks: [search({ with: { bucket: 'default', query: 'x', topk: 5 } })] },
    'blocks[0].with.topk: search has no such argument; did you mean "top_k"?',
  ],
  [
    'a value out of range',
    { blocks: [search({ with: { bucket: 'default', query: 'x', top_k: 1000 } })] },
    'blocks[0].with.top_k: must be at most 100',
  ],
  [
    'an upload with two contents',
    { blocks: [{ id: 'up', type: 'upload_document', with: { bucket: 'b', filename: 'a', text: 'x', content: 'y' } }] },
    'blocks[0].with: needs exactly one of text, content, content_base64',
  ],
  [
    'an upload that overlaps too much',
    {
      blocks: [
        {
          id: 'up',
          type: 'upload_document',
          with: { bucket: 'b', filename: 'a', text: 'x', chunk_size: 100, chunk_overlap: 90 },
        },
      ],
    },
    'blocks[0].with.chunk_overlap: must be at most half of chunk_size',
  ],
  [
    'a statement as an edit',
    {
      blocks: [
        { id: 'edit', type: 'update_metadata', with: { bucket: 'b', document_id: 'd', metadata: {}, statement: 'x' } },
      ],
    },
    'blocks[0].with.statement: update_metadata has no such argument',
  ],
  [
    'a reserved key in an edit',
    {
      blocks: [
        { id: 'edit', type: 'update_metadata', with: { bucket: 'b', document_id: 'd', metadata: { chunk_id: '1' } } },
      ],
    },
    'blocks[0].with.metadata.chunk_id: key is reserved',
  ],
  [
    'a comparison without its right side',
    { blocks: [{ id: 'check', type: 'condition', with: { left: 1, op: 'gt' } }] },
    'blocks[0].with.right: is required by the operator gt',
  ],
  [
    'an unknown operator',
    { blocks: [{ id: 'check', type: 'condition', with: { left: 1, op: 'greater', right: 2 } }] },
    'blocks[0].with.op: must be one of "eq", "ne", "gt", "gte", "lt", "lte", "contains", "exists"',
  ],
  ['a block after an unknown one', { blocks: [search({ after: ['fnd'] })] }, 'blocks[0].after[0]: unknown block "fnd"'],
  ['a condition on an unknown block', { blocks: [search({ if: 'check' })] }, 'blocks[0].if: unknown block "check"'],
  [
    'a condition without a reference',
    { blocks: [search({ if: 'always run' })] },
    'blocks[0].if: must have a reference such as {{blocks.check.output}}, or be the id of a block',
  ],
  [
    'a deadline of an hour',
    { blocks: [search({ timeout_seconds: 3600 })] },
    'blocks[0].timeout_seconds: must be at most 120',
  ],
  [
    'a default of another type',
    { inputs: { n: { type: 'number', default: '5' } }, blocks: [search()] },
    'inputs.n.default: must be of type number, not string',
  ],
  [
    'an input of an unknown type',
    { inputs: { n: { type: 'integer' } }, blocks: [search()] },
    'inputs.n.type: must be one of "string", "number", "boolean", "object", "array"',
  ],
  [
    'a block that refers to itself',
    { blocks: [template('a', '{{blocks.a.output}}')] },
    'blocks[0]: is part of a cycle: a -> a',
  ],
  [
    'a cycle over references, conditions and after',
    {
      blocks: [
        template('a', '{{blocks.c.output}}'),
        template('b', 'x', { if: '{{blocks.a.output}}' }),
        template('c', 'x', { after: ['b'] }),
      ],
    },
    'blocks[0]: is part of a cycle: a -> c -> b -> a',
  ],
  [
    'an output that refers to an unknown block',
    { blocks: [search()], output: { best: '{{blocks.fin.output}}' } },
    'output.best: unknown block "fin"; did you mean "find"?',
  ],
];

test.each(FAULTY)('%s is a fault with its path', (_name, definition, fault) => {
  const [first, ...others] = faultsOf(definition);
  expect(first).toContain(fault);
  expect(others).toEqual([]);
});

test('all faults of a definition are reported at once, those of shape and those of meaning', () => {
  const definition = {
    inputs: { topic: { type: 'text' } },
    blocks: [
      { id: 'Find', type: 'search', with: { bucket: 'b', query: '{{inputs.topic}}' } },
      search({ with: { query: '{{inputs.missing}}', top_k: 'ten' } }),
      template('say', '{{blocks.fin.output}}', { timeout_seconds: 0 }),
      { id: 'odd', type: 'odd' },
      template('x', '{{blocks.y.output}}'),
      template('y', '{{blocks.x.output}}'),
      template('z', '{{blocks.z.output}}'),
    ],
    output: '{{blocks.odd.output.any.path}} {{blocks.none.output}}',
  };
  expect(faultsOf(definition)).toEqual([
    expect.stringContaining('inputs.topic.type: must be one of'),
    'blocks[0].id: must be 1 to 64 characters of a-z 0-9 _ -',
    'blocks[2].timeout_seconds: must be more than 0',
    expect.stringContaining('blocks[3].type: unknown block type "odd"'),
    'blocks[1].with.query: unknown input "missing"',
    'blocks[1].with.bucket: is required by search',
    'blocks[1].with.top_k: must be a number',
    expect.stringContaining('output: unknown block "none"'),
    'blocks[4]: is part of a cycle: x -> y -> x',
    'blocks[6]: is part of a cycle: z -> z',
  ]);
});

test('a definition of 1,000 blocks is refused, one of 100 is valid', () => {
  const blocks = (count: number) => Array.from({ length: count }, (_, at) => template(`b${at}`, 'x'));
  expect(faultsOf({ blocks: blocks(1000) })).toEqual(['blocks: must have at most 100 blocks']);
  expect(faultsOf({ blocks: blocks(100) })).toEqual([]);
});

test('definitions that are too large, too deep or not storable are refused', () => {
  const deep = Array.from({ length: 100_000 }).reduce((inner: unknown) => [inner], 'x');
  expect(faultsOf({ blocks: [template('a', 'x')], output: deep })).toEqual([
    'definition: must be nested at most 32 levels deep',
  ]);
  expect(faultsOf({ blocks: [template('a', 'x'.repeat(300_000))] })).toEqual([
    'definition: must be at most 262144 bytes of JSON',
  ]);
  for (const text of ['a\0', '\ud83d']) {
    expect(faultsOf({ blocks: [template('a', text)] })).toEqual([
      'definition: must not contain U+0000 or unpaired surrogates',
    ]);
  }
  expect(faultsOf({ blocks: [template('a', 'a \\u0000 in words, and 😀')] })).toEqual([]);
});

test('no more than 200 faults are listed, with the number of the others', () => {
  const blocks = Array.from({ length: 100 }, (_, at) => template(`b${at}`, '{{inputs.a}} {{inputs.b}} {{inputs.c}}'));
  const faults = faultsOf({ blocks });
  expect(faults).toHaveLength(201);
  expect(faults.at(-1)).toBe('and 100 more faults');
});

test('values that are no definition at all are refused', () => {
  for (const value of [null, 5, 'x', [], [{}]]) expect(faultsOf(value)[0]).toMatch(/^(definition|blocks): /);
});

test('a valid definition gets its defaults', () => {
  const definition = valid({ inputs: { topic: { type: 'string' } }, blocks: [search()] });
  expect(definition).toEqual({
    inputs: { topic: { type: 'string', required: true } },
    blocks: [
      { id: 'find', type: 'search', with: { bucket: 'default', query: 'pumps' }, after: [], timeout_seconds: 30 },
    ],
  });
});

test('references to inputs of any depth, to later blocks and to lists by number are valid', () => {
  const definition = {
    inputs: { order: { type: 'object' }, note: { type: 'string', required: false } },
    blocks: [
      template('say', '{{blocks.find.output.results.0.text}} {{inputs.order.lines.0.name}} {{inputs.note}}'),
      search({ with: { bucket: 'default', query: '{{inputs.order.topic}}', filter: { team: '{{inputs.note}}' } } }),
      { id: 'check', type: 'condition', with: { left: '{{blocks.find.output.results}}', op: 'exists' } },
      template('end', 'x', { if: 'check' }),
    ],
  };
  expect(faultsOf(definition)).toEqual([]);
});

test('memory search is a block type with the request and the response of its endpoint', () => {
  const recall = {
    id: 'recall',
    type: 'memory_search',
    with: { query: 'x', tags: ['team:sales'], temporal: 'latest' },
  };
  expect(faultsOf({ blocks: [recall], output: '{{blocks.recall.output.results.0.text}}' })).toEqual([]);
  expect(faultsOf({ blocks: [{ ...recall, with: { query: 5 } }] })).toEqual(['blocks[0].with.query: must be a string']);
});
