import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/api.ts';
import { KOREAN, MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { SEED } from '../support/random.ts';

// Tests of texts at and beyond every limit and of malformed texts, through fake vendors.
const plans = { free: { quotas: { embed: 1, embed_image: 0 } } };
const MIB = 1024 * 1024;
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

let test: TestGateway;
let key: string;

beforeAll(async () => {
  test = await openTestGateway({ plans });
  key = await test.key({ scopes: ['embed', 'routing:manage'] });
});
afterAll(() => test.close());
afterEach(() => {
  expect([...test.upstream.violations, ...test.korean.violations]).toEqual([]);
});

const embed = (json: object) => test.call('POST', '/v1/embeddings', { key, json: { dimensions: 16, ...json } });
const sendRaw = (body: string) =>
  test.call('POST', '/v1/embeddings', { key, body, headers: { 'Content-Type': 'application/json' } });

/** Expect each vector to be the vendor's for its text, at full width or cut. */
function expectVectors(answer: Answer, model: string, texts: readonly string[]): void {
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  expect(answer.body.data).toHaveLength(texts.length);
  const server = model === KOREAN ? test.korean : test.upstream;
  const name = model === KOREAN ? 'tei' : (model.split('/')[1] as string);
  for (const [index, text] of texts.entries()) {
    const vector: number[] = answer.body.data[index].embedding;
    const native = server.vectorOf(name, text.toWellFormed()).subarray(0, vector.length);
    const norm = Math.hypot(...native);
    const gap = Math.max(...vector.map((value, axis) => Math.abs(value - (native[axis] as number) / norm)));
    expect([index, answer.body.data[index].index, gap < 1e-5]).toEqual([index, index, true]);
  }
}

describe.each([SMALL, MULTILINGUAL, KOREAN])('texts embedded by %s', (model) => {
  it('lone surrogates become U+FFFD, and the other texts keep their places', async () => {
    const texts = ['\ud800', 'before', '\udfff low', 'tail \ud83d', '😀', '\udc00\ud800', 'after'];
    expectVectors(await embed({ input: texts, model }), model, texts);
    // The cache and single requests give the same vectors.
    expectVectors(await embed({ input: texts.toReversed(), model }), model, texts.toReversed());
    for (const text of texts) expectVectors(await embed({ input: text, model }), model, [text]);
  });

  it('texts of NUL, controls, direction marks, noncharacters and combining marks are embedded like others', async () => {
    const zalgo = `a${'\u0301'.repeat(500)}`;
    const texts = [
      '\u0000',
      'a\u0000b',
      '\u0001\u001f\u007f',
      '\u202e\u200d',
      '\ufffe\uffff',
      '\ufeff',
      zalgo,
      ' \n\t',
    ];
    expectVectors(await embed({ input: texts, model }), model, texts);
  });

  it('texts that differ only in their normal form get different vectors', async () => {
    const texts = ['é', 'e\u0301', '한', '\u1112\u1161\u11ab', 'A', 'Ａ', 'ß', 'ss'];
    const answer = await embed({ input: texts, model });
    expectVectors(answer, model, texts);
    const vectors = answer.body.data.map((item: { embedding: number[] }) => item.embedding.join());
    expect(new Set(vectors).size).toBe(texts.length);
  });
});

describe('long texts', () => {
  it('a text at the token limit of a model is embedded, and one token more is refused', async () => {
    const fits = `${'word '.repeat(8190)}word`;
    expectVectors(await embed({ input: fits, model: SMALL }), SMALL, [fits]);
    const answer = await embed({ input: [fits, `${fits} word`], model: SMALL });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ code: 'token_limit_exceeded', param: 'input[1]' });
  });

  it('100 long texts are split by the vendor’s token limit, and their vectors are merged again', {
    timeout: 60_000,
  }, async () => {
    const texts = Array.from({ length: 100 }, (_, n) => `${n} ${'word '.repeat(4000)}`);
    const before = test.upstream.calls.length;
    expectVectors(await embed({ input: texts, model: SMALL }), SMALL, texts);
    const calls = test.upstream.calls.slice(before);
    expect(calls.length).toBeGreaterThan(1);
    expect(calls.flatMap((call) => call.texts).sort()).toEqual([...texts].sort());
    for (const call of calls) expect(call.texts.length * 4000).toBeLessThanOrEqual(300_000);
  });

  it.each([SMALL, KOREAN])(
    'a text of 16 MiB is refused and named, for %s',
    async (model) => {
      const shell = JSON.stringify({ input: '', model });
      for (const letter of ['a', '5', '\\u0000', '한']) {
        const copies = Math.floor((16 * MIB - shell.length) / Buffer.byteLength(letter));
        const answer = await sendRaw(shell.replace('""', `"${letter.repeat(copies)}"`));
        expect([letter, answer.status, answer.body.error?.code]).toEqual([letter, 400, 'token_limit_exceeded']);
        expect(answer.body.error.param).toBe('input');
      }
    },
    60_000,
  );

  it('a body of one byte more than 16 MiB is a 413', async () => {
    const shell = JSON.stringify({ input: '', model: SMALL });
    const answer = await sendRaw(shell.replace('""', `"${'a'.repeat(16 * MIB - shell.length + 1)}"`));
    expect(answer.status).toBe(413);
    expect(answer.body).toMatchObject({
      error: { type: 'invalid_request_error', code: 'body_too_large', message: expect.stringContaining('16777216') },
      request_id: answer.headers.get('x-request-id'),
    });
  });
});

describe('the errors of the contract', () => {
  it.each([
    ['an unknown model', { input: 'x', model: 'vendor-z/none' }, 400, 'invalid_request_error', 'unknown_model'],
    ['a wrong dimension', { input: 'x', dimensions: 4097 }, 400, 'invalid_request_error', 'invalid_request'],
    ['an empty input', { input: [] }, 400, 'invalid_request_error', 'invalid_request'],
    ['too many tokens', { input: 'x '.repeat(9000) }, 400, 'invalid_request_error', 'token_limit_exceeded'],
    [
      'a provider that is not configured',
      { input: 'x', model: 'vendor-c/model-4' },
      502,
      'api_error',
      'provider_unavailable',
    ],
  ])('%s is an error of the contract', async (_label, json, status, type, code) => {
    const { body, headers, ...answer } = await test.call('POST', '/v1/embeddings', { key, json });
    expect(answer.status).toBe(status);
    expect(body).toMatchObject({ error: { type, code }, request_id: headers.get('x-request-id') });
  });

  it('the error for items that are no strings asks for strings', async () => {
    for (const input of [[1], [[1, 2]], ['a', null]]) {
      expect((await embed({ input })).body.error.message).toContain('items must be strings');
    }
  });

  it('a wrong key is a 401, a used-up quota a 402, a plan without the axis a 403 and a retired endpoint a 410', async () => {
    const free = await test.key({ org: 'small', scopes: ['embed'] });
    const call = (path: string, json: object, as: string) => test.call('POST', path, { key: as, json });
    await call('/v1/embeddings', { input: 'the only one' }, free);
    const answers = [
      await call('/v1/embeddings', { input: 'x' }, 'svc_wrong'),
      await call('/v1/embeddings', { input: 'x' }, free),
      await call('/v1/embed/image', { images: [PNG] }, free),
      await call('/v1/embed', { text: 'x' }, 'svc_wrong'),
    ];
    const shown = answers.map(({ status, body, headers }) => {
      expect(body.request_id).toBe(headers.get('x-request-id'));
      return [status, body.error.type, body.error.code];
    });
    expect(shown).toEqual([
      [401, 'authentication_error', expect.any(String)],
      [402, 'insufficient_quota', 'quota_exceeded'],
      [403, 'permission_error', 'axis_not_in_plan'],
      [410, 'invalid_request_error', 'endpoint_retired'],
    ]);
  });
});

const member = fc.constantFrom(
  ...[
    'input',
    'texts',
    'images',
    'model',
    'dimensions',
    'task_type',
    'encoding_format',
    'user',
    'primary',
    'fallback',
    'mode',
  ],
);
const value = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 5 }),
  fc.constantFrom<unknown>(SMALL, KOREAN, MULTILINGUAL, undefined, [PNG], 256, 'retrieval_query', 'fallback'),
);

it('any JSON body gets a 200 or a 4xx in the error shape', { timeout: 60_000 }, async () => {
  const routes = ['POST /v1/embeddings', 'POST /v1/embed/batch', 'POST /v1/embed/image', 'PUT /v1/routing'];
  const own = await test.key({ org: 'fuzzed', scopes: ['embed', 'routing:manage'] });
  await test.appliance.sql`UPDATE organizations SET plan = 'pro' WHERE name = 'fuzzed'`;
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...routes), fc.dictionary(member, value, { maxKeys: 7 }), async (route, json) => {
      const [method, path] = route.split(' ') as [string, string];
      const { status, body, headers } = await test.call(method, path, { key: own, json });
      if (status === 200) return;
      expect([400, 403]).toContain(status);
      expect(body.error).toMatchObject({
        type: expect.any(String),
        message: expect.any(String),
        code: expect.any(String),
      });
      expect(body.request_id).toBe(headers.get('x-request-id'));
    }),
    { seed: SEED, numRuns: 600, endOnFailure: true },
  );
});
