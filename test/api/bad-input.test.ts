import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SMALL_BODY_BYTES_MAX } from '../../server/body/body-limits.ts';
import type { Answer } from '../support/api.ts';
import { KOREAN, LARGE, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';

// The embedding family answers any request with a 2xx or with a 4xx in its error shape, and serves the next request
// normally.
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

/** Route of the family that reads a JSON body, with a valid body. */
interface Target {
  readonly method: string;
  readonly path: string;
  readonly json: Readonly<Record<string, unknown>>;
}
const EMBEDDINGS: Target = { method: 'POST', path: '/v1/embeddings', json: { input: ['a', 'b'], model: SMALL } };
const BATCH: Target = { method: 'POST', path: '/v1/embed/batch', json: { texts: ['a', 'b'], model: SMALL } };
const IMAGE: Target = { method: 'POST', path: '/v1/embed/image', json: { images: [PNG], model: 'local/lexical-1' } };
const ROUTING: Target = {
  method: 'PUT',
  path: '/v1/routing',
  json: { primary: SMALL, fallback: KOREAN, mode: 'fallback' },
};
const TARGETS = [EMBEDDINGS, BATCH, IMAGE, ROUTING];
const targetsByName = TARGETS.map((target) => [`${target.method} ${target.path}`, target] as const);

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
  // The answer does not repeat long parts of the request.
  expect(JSON.stringify(body).length).toBeLessThan(2000);
}

const nest = (depth: number, [open, close]: readonly [string, string]) => open.repeat(depth) + close.repeat(depth);

describe.each(targetsByName)('bodies of %s that are not valid JSON', (_name, target) => {
  const valid = JSON.stringify(target.json).slice(1, -1);
  it.each<[string, string | Uint8Array]>([
    ['nothing', ''],
    ['half an object', `{${valid}`],
    ['two objects', `{${valid}}{${valid}}`],
    ['a list', '[]'],
    ['a string', '"input"'],
    ['null', 'null'],
    ['a number', '1e999'],
    ['NaN', `{${valid},"dimensions":NaN}`],
    ['single quotes', "{'input':'a'}"],
    ['a comment', `{${valid}/* */}`],
    [
      'bad UTF-8',
      Buffer.concat([Buffer.from(`{${valid},"user":"`), Buffer.from([0xc3, 0x28, 0xff]), Buffer.from('"}')]),
    ],
    ['UTF-16', Buffer.from(`{${valid}}`, 'utf16le')],
    ['a control character in a string', `{${valid},"user":"\u0000"}`],
    ['10,000 levels of lists', `{${valid},"x":${nest(10_000, ['[', ']'])}}`],
    ['10,000 levels of objects', `{${valid},"x":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}`],
    ['1,000,000 levels, never closed', '{"a":['.repeat(500_000)],
    ['200,000 values', `{${valid},"x":[${'0,'.repeat(200_000)}0]}`],
    ['__proto__', `{${valid},"__proto__":{"model":"${LARGE}"}}`],
    ['__proto__ inside', `{${valid},"x":{"y":[{"__proto__":{"admin":true}}]}}`],
    ['constructor.prototype', `{${valid},"constructor":{"prototype":{"admin":true}}}`],
  ])('a body that is not valid JSON is refused: %s', async (_label, body) => {
    const reply = await sendRaw(target, body);
    // Routes differ in the size of their bodies: some refuse the longest of these before they read them.
    expectRefusal(reply, body.length > SMALL_BODY_BYTES_MAX && reply.status === 413 ? 413 : 400);
  });

  it('a missing body, another content type, another encoding and another method are refused', async () => {
    const { method, path } = target;
    expectRefusal(await test.call(method, path, { key, headers: { 'Content-Type': 'application/json' } }));
    expectRefusal(await sendRaw(target, `{${valid}}`, { 'Content-Type': 'text/plain' }), 415);
    expectRefusal(await sendRaw(target, `{${valid}}`, { 'Content-Type': 'application/json; charset=utf-16' }), 415);
    expectRefusal(await sendRaw(target, `{${valid}}`, { 'Content-Encoding': 'gzip' }), 415);
    expectRefusal(await test.call('DELETE', path, { key }), 405);
  });

  it('the last of two members of one name counts, and unknown members are ignored', async () => {
    const { status } = await sendRaw(
      target,
      `{"model":7,"primary":7,"texts":8,"input":9,"images":0,${valid},"hasOwnProperty":1}`,
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
/** Wrong values of each member. For an optional member null means "not given". */
const FIELDS: readonly (readonly [Target, string, readonly unknown[]])[] = [
  [EMBEDDINGS, 'input', [...(WRONG['texts'] as unknown[]), '']],
  [EMBEDDINGS, 'model', [...(WRONG['string'] as unknown[]), 'vendor-z/none', 'constructor', '../x', 'a\u0000b']],
  [EMBEDDINGS, 'dimensions', WRONG['optionalInteger'] as unknown[]],
  [EMBEDDINGS, 'task_type', WRONG['task'] as unknown[]],
  [EMBEDDINGS, 'encoding_format', [7, true, [], {}, 'x'.repeat(33)]],
  [EMBEDDINGS, 'user', [7, true, [], {}]],
  [BATCH, 'texts', [...(WRONG['texts'] as unknown[]), 'a', '']],
  [BATCH, 'model', [...(WRONG['string'] as unknown[]), 'vendor-z/none']],
  [BATCH, 'dimensions', WRONG['optionalInteger'] as unknown[]],
  [BATCH, 'task_type', WRONG['task'] as unknown[]],
  [
    IMAGE,
    'images',
    [null, 7, true, {}, PNG, [], [null], [7], [[PNG]], [''], ['!'], [PNG, 'bm90IGFuIGltYWdl'], new Array(21).fill(PNG)],
  ],
  [IMAGE, 'model', [...(WRONG['string'] as unknown[]), 'vendor-z/none']],
  [IMAGE, 'dimensions', WRONG['optionalInteger'] as unknown[]],
  [ROUTING, 'primary', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none', KOREAN]],
  [ROUTING, 'fallback', [...(WRONG['string'] as unknown[]), null, 'vendor-z/none', SMALL]],
  [ROUTING, 'mode', [7, true, [], {}, '', 'random']],
];

describe('requests with wrong values', () => {
  it.each(FIELDS.map(([target, field, values]) => [`${target.path} ${field}`, target, field, values] as const))(
    'a wrong value is refused and named: %s',
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
  ])('a wrong period of a usage summary is refused, naming %s: %s', async (param, query) => {
    expectRefusal(await test.call('GET', `/v1/usage/summary${query}`, { key }), 400, param);
  });

  it.each(['/v1/models/no/such', '/v1/models/%2e%2e%2fx', '/v1/models/constructor', `/v1/models/${'x'.repeat(3000)}`])(
    'an unknown model id is a 404: %#',
    async (path) => {
      expectRefusal(await test.call('GET', path, { key }), 404);
    },
  );

  it('a path with bad escapes is refused', async () => {
    const { status, body } = await test.call('GET', '/v1/models/%ff%zz', { key });
    expect([400, 404]).toContain(status);
    expect(body.error.type).toBe('invalid_request_error');
  });
});
