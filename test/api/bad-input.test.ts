import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/api.ts';
import { KOREAN, LARGE, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';

// Whatever is sent to the embedding family, the answer is a 2xx or a 4xx in its error shape, and the next request is
// served as if nothing had been.
let test: TestGateway;
let key: string;

beforeAll(async () => {
  test = await openTestGateway();
  key = await test.key({ scopes: ['embed', 'routing:manage'] });
});
afterAll(async () => {
  expect([...test.upstream.violations, ...test.korean.violations]).toEqual([]);
  await test.close();
});

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

interface Target {
  readonly method: string;
  readonly path: string;
  readonly json: Readonly<Record<string, unknown>>;
}
/** Every route of the family that reads a body, with a body that is good. */
const EMBEDDINGS: Target = { method: 'POST', path: '/v1/embeddings', json: { input: ['a', 'b'], model: SMALL } };
const BATCH: Target = { method: 'POST', path: '/v1/embed/batch', json: { texts: ['a', 'b'], model: SMALL } };
const IMAGE: Target = { method: 'POST', path: '/v1/embed/image', json: { images: [PNG], model: 'local/lexical-1' } };
const ROUTING: Target = {
  method: 'PUT',
  path: '/v1/routing',
  json: { primary: SMALL, fallback: KOREAN, mode: 'fallback' },
};
const TARGETS = [EMBEDDINGS, BATCH, IMAGE, ROUTING];
const named = TARGETS.map((target) => [`${target.method} ${target.path}`, target] as const);

const sendJson = ({ method, path }: Target, json: unknown) => test.call(method, path, { key, json });
const sendRaw = ({ method, path }: Target, body: string | Uint8Array, headers: Record<string, string> = {}) =>
  test.call(method, path, { key, body, headers: { 'Content-Type': 'application/json', ...headers } });

function expectRefusal(answer: Answer, status = 400, param?: string | null): void {
  const { body, headers } = answer;
  expect([answer.status, body]).toEqual([
    status,
    {
      error: {
        message: expect.stringMatching(/\S+ \S+/),
        type: 'invalid_request_error',
        param: param === undefined ? expect.toSatisfy((value) => value === null || typeof value === 'string') : param,
        code: expect.stringMatching(/^[a-z0-9_]+$/),
        ...(body.error?.details === undefined ? {} : { details: expect.any(Object) }),
      },
      request_id: headers.get('x-request-id'),
    },
  ]);
  // Nothing that was sent is repeated at length.
  expect(JSON.stringify(body).length).toBeLessThan(2000);
}

const nest = (depth: number, [open, close]: readonly [string, string]) => open.repeat(depth) + close.repeat(depth);

describe.each(named)('%s: bodies that are no good JSON', (_name, target) => {
  const good = JSON.stringify(target.json).slice(1, -1);
  it.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['half an object', `{${good}`],
    ['two objects', `{${good}}{${good}}`],
    ['a list', '[]'],
    ['a string', '"input"'],
    ['null', 'null'],
    ['a number', '1e999'],
    ['NaN', `{${good},"dimensions":NaN}`],
    ['single quotes', "{'input':'a'}"],
    ['a comment', `{${good}/* */}`],
    [
      'bad UTF-8',
      Buffer.concat([Buffer.from(`{${good},"user":"`), Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from(`{${good}}`, 'utf16le')],
    ['a control character in a string', `{${good},"user":"\u0000"}`],
    ['10,000 levels of lists', `{${good},"x":${nest(10_000, ['[', ']'])}}`],
    ['10,000 levels of objects', `{${good},"x":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
    ['1,000,000 levels, never closed', '{"a":['.repeat(500_000)],
    ['200,000 values', `{${good},"x":[${'0,'.repeat(200_000)}0]}`],
    ['__proto__', `{${good},"__proto__":{"model":"${LARGE}"}}`],
    ['__proto__ inside', `{${good},"x":{"y":[{"__proto__":{"admin":true}}]}}`],
    ['constructor.prototype', `{${good},"constructor":{"prototype":{"admin":true}}}`],
  ])('%s', async (_what, body) => {
    expectRefusal(await sendRaw(target, body));
  });

  it('no body, another type, another encoding, another method', async () => {
    const { method, path } = target;
    expectRefusal(await test.call(method, path, { key, headers: { 'Content-Type': 'application/json' } }));
    expectRefusal(await sendRaw(target, `{${good}}`, { 'Content-Type': 'text/plain' }), 415);
    expectRefusal(await sendRaw(target, `{${good}}`, { 'Content-Type': 'application/json; charset=utf-16' }), 415);
    expectRefusal(await sendRaw(target, `{${good}}`, { 'Content-Encoding': 'gzip' }), 415);
    expectRefusal(await test.call('DELETE', path, { key }), 405);
  });

  it('the last of two members counts, and unknown ones are ignored', async () => {
    const { status } = await sendRaw(
      target,
      `{"model":7,"primary":7,"texts":8,"input":9,"images":0,${good},"hasOwnProperty":1}`,
    );
    expect(status).toBe(200);
  });
});

const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  string: [7, true, [], {}, ['x'], '', 'x'.repeat(10_000)],
  optionalInteger: ['256', 1.5, -1, 0, 4097, 1e308, -0.5, true, [], {}, Number.MAX_SAFE_INTEGER],
  task: [7, true, [], {}, '', 'guess', 'RETRIEVAL_QUERY', 'constructor', '__proto__'],
  texts: [
    null,
    7,
    true,
    {},
    { length: 1, 0: 'a' },
    [],
    [null],
    ['a', 1],
    [['a']],
    [{}],
    ['a', ''],
    new Array(101).fill('a'),
  ],
};
/** Which values of each member are wrong; null is "not given" where a member is optional and nullable. */
const FIELDS: readonly (readonly [Target, string, readonly unknown[]])[] = [
  [EMBEDDINGS, 'input', [...(WRONG['texts'] as unknown[]), '']],
  [EMBEDDINGS, 'model', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none', 'constructor', '../x', 'a\u0000b']],
  [EMBEDDINGS, 'dimensions', WRONG['optionalInteger'] as unknown[]],
  [EMBEDDINGS, 'task_type', WRONG['task'] as unknown[]],
  [EMBEDDINGS, 'encoding_format', [7, true, [], {}, 'x'.repeat(33)]],
  [EMBEDDINGS, 'user', [7, true, [], {}]],
  [BATCH, 'texts', [...(WRONG['texts'] as unknown[]), 'a', '']],
  [BATCH, 'model', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none']],
  [BATCH, 'dimensions', WRONG['optionalInteger'] as unknown[]],
  [BATCH, 'task_type', WRONG['task'] as unknown[]],
  [
    IMAGE,
    'images',
    [null, 7, true, {}, PNG, [], [null], [7], [[PNG]], [''], ['!'], [PNG, 'bm90IGFuIGltYWdl'], new Array(21).fill(PNG)],
  ],
  [IMAGE, 'model', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none']],
  [IMAGE, 'dimensions', WRONG['optionalInteger'] as unknown[]],
  [ROUTING, 'primary', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none', KOREAN]],
  [ROUTING, 'fallback', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none', SMALL]],
  [ROUTING, 'mode', [7, true, [], {}, '', 'random', null]],
];

describe('wrong values', () => {
  it.each(FIELDS.map(([target, field, values]) => [`${target.path} ${field}`, target, field, values] as const))(
    '%s',
    async (_name, target, field, values) => {
      for (const value of values) {
        const answer = await sendJson(target, { ...target.json, [field]: value });
        expectRefusal(answer);
        expect([value, answer.body.error.param]).toEqual([value, expect.stringMatching(/^[a-z_]+(?:\[\d+\])?$/)]);
      }
      expect(test.upstream.violations).toEqual([]);
    },
  );

  it.each([
    ['from', '?from=yesterday'],
    ['from', '?from=2026-13-01'],
    ['from', '?from=2026-02-30'],
    ['from', '?from='],
    ['from', '?from=2026-01-01&from=2026-01-02'],
    ['from', '?from[]=2026-01-01&from=%F0%9F'],
    ['from', `?from=${'9'.repeat(2000)}`],
    ['from', '?from=2026-02-01&to=2026-01-01'],
    ['from', '?from=2020-01-01&to=2026-01-01'],
    ['from', '?from=0001-01-01'],
    ['from', "?from=2026-01-01'%20OR%201=1--"],
    ['to', '?to=1767225600'],
    ['to', '?to=+275760-09-13'],
    [null, '?from=%00'],
  ])('of a period: %s in %s', async (param, query) => {
    expectRefusal(await test.call('GET', `/v1/usage/summary${query}`, { key }), 400, param);
  });

  it.each(['/v1/models/no/such', '/v1/models/%2e%2e%2fx', '/v1/models/constructor', `/v1/models/${'x'.repeat(3000)}`])(
    'of a model id: %#',
    async (path) => {
      expectRefusal(await test.call('GET', path, { key }), 404);
    },
  );

  it('bad escapes in a path', async () => {
    const { status, body } = await test.call('GET', '/v1/models/%ff%zz', { key });
    expect([400, 404]).toContain(status);
    expect(body.error.type).toBe('invalid_request_error');
  });
});
