import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { KOREAN, LARGE, MULTILINGUAL, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';

let test: TestGateway;
let key: string;

beforeAll(async () => {
  test = await openTestGateway();
  key = await test.key({ scopes: ['embed', 'routing:manage'] });
});
afterAll(() => test.close());
afterEach(() => {
  test.upstream.decide = () => null;
  test.korean.decide = () => null;
  expect([...test.upstream.violations, ...test.korean.violations]).toEqual([]);
});

let serial = 0;
const fresh = (text = 'text') => `${text} number ${++serial}`;
const embed = (json: unknown, as = key) => test.call('POST', '/v1/embeddings', { key: as, json });
const route = (json: unknown, as = key) => test.call('PUT', '/v1/routing', { key: as, json });

/** Return the vector of an uncalibrated model: the upstream's, cut or padded to `dimensions` and normalised. */
function expected(native: Float32Array, dimensions: number): number[] {
  const kept = Array.from({ length: dimensions }, (_, i) => native[i] ?? 0);
  const norm = Math.sqrt(kept.reduce((sum, x) => sum + x * x, 0));
  return kept.map((x) => x / norm);
}

function expectClose(actual: number[], wanted: number[]): void {
  expect(actual).toHaveLength(wanted.length);
  for (const [i, value] of actual.entries()) expect(Math.abs(value - (wanted[i] as number))).toBeLessThan(1e-6);
}

describe('POST /v1/embeddings through a vendor', () => {
  it("a model is served under the vendor's own name too", async () => {
    const input = fresh();
    const { status, body } = await embed({ input, model: 'text-embedding-3-small' });
    expect([status, body.model]).toEqual([200, SMALL]);
    expectClose(body.data[0].embedding, expected(test.upstream.vectorOf('text-embedding-3-small', input), 1536));
  });

  it.each([
    [SMALL, 1536, 'openai', 'text-embedding-3-small'],
    [LARGE, 3072, 'openai', 'text-embedding-3-large'],
  ])('the vectors of %s come in the order of the texts', async (model, dimensions, _protocol, name) => {
    const texts = [fresh(), fresh('한국어'), fresh('ünï')];
    const { status, body, headers } = await embed({ input: texts, model });
    expect(status).toBe(200);
    expect(body.model).toBe(model);
    for (const [index, text] of texts.entries()) {
      expectClose(body.data[index].embedding, expected(test.upstream.vectorOf(name, text), dimensions));
    }
    expect(headers.get('x-service-projection')).toBe('uncalibrated');
    expect(body.usage.prompt_tokens).toBeGreaterThan(texts.length);
  });

  it('vectors of a variable model are cut and padded, and a header names the dimension at which the padding begins', async () => {
    const input = fresh();
    const native = test.upstream.vectorOf('text-embedding-3-small', input);
    const cut = await embed({ input, model: SMALL, dimensions: 256 });
    expectClose(cut.body.data[0].embedding, expected(native, 256));
    const padded = await embed({ input, model: SMALL, dimensions: 4096 });
    expectClose(padded.body.data[0].embedding, expected(native, 4096));
    expect(padded.headers.get('x-service-effective-dimensions')).toBe('1536');
  });

  it('dimensions are not honoured for a fixed model, with a warning', async () => {
    const { status, body, headers } = await embed({ input: fresh(), model: KOREAN, dimensions: 256 });
    expect(status).toBe(200);
    expect(body.data[0].embedding).toHaveLength(1024);
    expect(headers.get('x-service-warning')).toBe('dimensions-ignored');
    expect((await embed({ input: fresh(), model: KOREAN, dimensions: 1024 })).headers.get('x-service-warning')).toBe(
      null,
    );
  });

  it('the task type is sent in the vendor’s own words, and is part of the cache key', async () => {
    const input = fresh();
    const before = test.upstream.calls.length;
    await embed({ input, model: MULTILINGUAL, task_type: 'retrieval_query' });
    await embed({ input, model: MULTILINGUAL, task_type: 'retrieval_document' });
    await embed({ input, model: MULTILINGUAL, task_type: 'retrieval_query' });
    expect(test.upstream.calls.slice(before).map((call) => call.taskType)).toEqual([
      'retrieval.query',
      'retrieval.passage',
    ]);
  });

  it('a cached text is metered like a new one', async () => {
    const input = [fresh(), fresh()];
    const first = await embed({ input, model: SMALL });
    const calls = test.upstream.calls.length;
    const second = await embed({ input: [...input].reverse(), model: SMALL });
    expect(test.upstream.calls).toHaveLength(calls);
    expect(second.body.usage).toEqual(first.body.usage);
    expect(second.body.data[0].embedding).toEqual(first.body.data[1].embedding);
  });

  it('an input that the vendor refuses is a 400 without a fallback', async () => {
    test.upstream.next({ kind: 'status', status: 400, body: { error: { message: 'bad input', code: 'bad' } } });
    const { status, body } = await embed({ input: fresh(), model: SMALL });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'upstream_rejected', type: 'invalid_request_error' });
  });

  it('an unavailable vendor is a 502 if no fallback is set', async () => {
    test.upstream.decide = () => ({ kind: 'status', status: 500 });
    const { status, body } = await embed({ input: fresh(), model: LARGE });
    expect(status).toBe(502);
    expect(body.error).toMatchObject({ code: 'provider_unavailable', type: 'api_error' });
  });

  it('a text over the limit of the model is refused before any call', async () => {
    const calls = test.upstream.calls.length;
    const { status, body } = await embed({ input: ['ok', 'word '.repeat(9_000)], model: SMALL });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: 'token_limit_exceeded', param: 'input[1]' });
    expect(body.error.message).toContain('8191');
    expect(test.upstream.calls).toHaveLength(calls);
  });
});

describe('faults of the texts', () => {
  const tokenIds = (count: number) => Array.from({ length: count }, (_, id) => id);
  const bulk = (json: unknown) => test.call('POST', '/v1/embed/jobs', { key, json });
  const batch = (json: unknown) => test.call('POST', '/v1/embed/batch', { key, json });

  it.each([101, 5_000])('%i token ids are refused as such, and not as too many texts', async (count) => {
    for (const [send, field] of [
      [embed, 'input'],
      [batch, 'texts'],
      [bulk, 'texts'],
    ] as const) {
      const { status, body } = await send({ [field]: tokenIds(count) });
      expect([status, body.error.param]).toEqual([400, `${field}[0]`]);
      expect(body.error.message).toContain('items must be strings; token ids are not accepted');
    }
  });

  it('a body with more values than are parsed is refused with the bound of its texts', async () => {
    const texts = await embed({ input: tokenIds(10_001) });
    expect([texts.status, texts.body.error.param]).toEqual([400, 'input']);
    expect(texts.body.error.message).toMatch(/up to 100 texts.*token ids are not accepted.*POST \/v1\/embed\/jobs/);
    const long = await embed({ input: new Array(10_001).fill('x'.repeat(40)) });
    expect([long.status, long.body.error.param]).toEqual([400, 'input']);
    const many = await bulk({ texts: new Array(20_001).fill('x') });
    expect([many.status, many.body.error.param]).toEqual([400, 'texts']);
    expect(many.body.error.message).toContain('up to 10,000 texts');
  });

  it('an error of the deprecated batch endpoint names its own field', async () => {
    const long = await batch({ texts: ['ok', 'word '.repeat(9_000)], model: SMALL });
    expect(long.body.error).toMatchObject({ param: 'texts[1]', details: { max_tokens: 8191 } });
    expect(long.body.error.message).toMatch(/^texts\[1\] has 9001 tokens/);
    test.upstream.next({ kind: 'status', status: 400, body: { error: { message: 'bad input', code: 'bad' } } });
    expect((await batch({ texts: [fresh()], model: SMALL })).body.error.param).toBe('texts');
  });

  it('the limit of the alias holds for its backends, in requests and in bulk jobs', async () => {
    const text = 'word '.repeat(9_000);
    for (const { status, body } of [await embed({ input: [text] }), await bulk({ texts: [text] })]) {
      expect([status, body.error.code, body.error.details]).toEqual([
        400,
        'token_limit_exceeded',
        { max_tokens: 8192 },
      ]);
      expect(body.error.message).toMatch(/service-embed-1-small takes at most 8192; shorten or split the text/);
    }
  });
});

describe('the alias', () => {
  it('a bulk job with the alias gets the warnings of a request', async () => {
    const { status, headers } = await test.call('POST', '/v1/embed/jobs', { key, json: { texts: [fresh()] } });
    expect([status, headers.get('x-service-warning')]).toEqual([200, 'alias-not-calibrated']);
  });

  it('the alias uses one backend for all languages until they are calibrated, and warns of it', async () => {
    const english = await embed({ input: fresh('The ferry leaves the harbour at seven in the morning') });
    const korean = await embed({ input: fresh('배는 아침 일곱 시에 항구를 떠납니다') });
    for (const { body, headers } of [english, korean]) {
      expect(body.model).toBe(MULTILINGUAL);
      expect(headers.get('x-service-warning')).toBe('alias-not-calibrated');
    }
    const named = await embed({ input: fresh('배는 일곱 시에 떠납니다'), model: KOREAN });
    expect(named.body.data[0].embedding).toHaveLength(1024);
    expect(named.headers.get('x-service-warning')).toBeNull();
  });

  it('the alias sends a batch in several languages to one backend while the backends cannot be compared', async () => {
    const input = [fresh('The ferry leaves at seven'), fresh('배는 일곱 시에 떠납니다')];
    expect((await embed({ input })).body.model).toBe(MULTILINGUAL);
  });
});

describe('POST /v1/embed/batch', () => {
  it.each([
    ['cut', 64],
    ['padded', 2_048],
  ])('POST /v1/embed/batch still works with %s vectors, and is called deprecated', async (_, dimensions) => {
    const texts = [fresh(), fresh()];
    const { status, body, headers } = await test.call('POST', '/v1/embed/batch', {
      key,
      json: { texts, model: SMALL, dimensions },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ model: SMALL, dimensions, usage: { count: 2, tokens: expect.any(Number) } });
    for (const [index, text] of texts.entries()) {
      const native = test.upstream.vectorOf('text-embedding-3-small', text);
      expectClose(body.embeddings[index], expected(native, dimensions));
    }
    expect(headers.get('deprecation')).toBe('@1754179200');
    expect(headers.get('sunset')).toBe('Mon, 03 Aug 2026 00:00:00 GMT');
    expect(headers.get('link')).toBe('</v1/embeddings>; rel="successor-version"');
  });

  it.each([
    ['more than 100 texts', { texts: new Array(101).fill('a') }, 'texts'],
    ['a string as texts', { texts: 'a' }, 'texts'],
    ['no texts', {}, 'texts'],
    ['an empty list', { texts: [] }, 'texts'],
    ['numbers', { texts: ['a', 1] }, 'texts[1]'],
  ])('a batch with %s is refused', async (_, json, param) => {
    const { status, body, headers } = await test.call('POST', '/v1/embed/batch', { key, json });
    expect(status).toBe(400);
    expect(body.error.param).toBe(param);
    expect(headers.get('deprecation')).toBe('@1754179200');
  });
});

describe('GET /v1/models', () => {
  it('the list of models shows which models have a provider', async () => {
    const { body } = await test.call('GET', '/v1/models', { key });
    const available = new Map(
      body.data.map((model: { id: string; available: boolean }) => [model.id, model.available]),
    );
    expect(available.get(SMALL)).toBe(true);
    expect(available.get(KOREAN)).toBe(true);
    expect(available.get('service-embed-1-small')).toBe(true);
    expect(available.get('vendor-b/embedding-001')).toBe(false);
    expect((await test.call('GET', `/v1/models/${SMALL}`, { key })).body).toMatchObject({
      id: SMALL,
      calibrated: false,
    });
  });
});

describe('routing', () => {
  it('routing has defaults before it is set, and is read with any key', async () => {
    const other = await test.key({ org: 'routing-defaults', scopes: ['search'] });
    const { status, body } = await test.call('GET', '/v1/routing', { key: other });
    expect(status).toBe(200);
    expect(body).toEqual({
      primary: 'service-embed-1-small',
      fallback: null,
      mode: 'single',
      updated_at: null,
      warnings: [],
    });
    expect((await route({ primary: SMALL }, other)).status).toBe(403);
  });

  it.each([
    ['an unknown primary', { primary: 'vendor-z/none' }, 'unknown_model'],
    ['an unknown fallback', { primary: SMALL, fallback: 'vendor-z/none', mode: 'fallback' }, 'unknown_model'],
    ['no primary', { fallback: SMALL }, 'invalid_request'],
    ['another mode', { primary: SMALL, mode: 'random' }, 'invalid_request'],
    ['mode fallback without one', { primary: SMALL, mode: 'fallback' }, 'invalid_request'],
    ['a fallback that is the primary', { primary: SMALL, fallback: SMALL, mode: 'fallback' }, 'invalid_request'],
    ['wrong types', { primary: 7 }, 'invalid_request'],
  ])('routing with %s is refused', async (_, json, code) => {
    const { status, body } = await route(json);
    expect(status).toBe(400);
    expect(body.error.code).toBe(code);
  });

  it('only requests that name no model or the primary fall back', async () => {
    const own = await test.key({ org: 'routing-fallback', scopes: ['embed', 'routing:manage'] });
    const stored = await route({ primary: SMALL, fallback: KOREAN, mode: 'fallback' }, own);
    expect(stored.status).toBe(200);
    expect(stored.body).toMatchObject({ primary: SMALL, fallback: KOREAN, mode: 'fallback' });
    expect(stored.body.warnings).toEqual([expect.stringContaining('cannot be compared')]);

    expect((await embed({ input: fresh() }, own)).body.model).toBe(SMALL);
    test.upstream.decide = () => ({ kind: 'status', status: 503 });
    expect((await embed({ input: fresh() }, own)).body.model).toBe(KOREAN);
    expect((await embed({ input: fresh(), model: SMALL }, own)).body.model).toBe(KOREAN);
    expect((await embed({ input: fresh(), model: LARGE }, own)).status).toBe(502);

    test.korean.decide = () => ({ kind: 'status', status: 500 });
    const both = await embed({ input: fresh() }, own);
    expect(both.status).toBe(502);
    expect(both.body.error.message).toMatch(/vendor-a\/text-embedding-3-small: \w+; vendor-d\/bge-m3-ko: \w+/);
  });

  it('texts that the fallback refuses while the primary is down are a 502 that says who refused them, and why', async () => {
    const own = await test.key({ org: 'routing-refusal', scopes: ['embed', 'routing:manage'] });
    await route({ primary: SMALL, fallback: KOREAN, mode: 'fallback' }, own);
    test.upstream.decide = () => ({ kind: 'status', status: 503 });
    const refusal = { status: 400, body: { error: { message: 'no such letters', code: 'bad' } } };
    test.korean.decide = () => ({ kind: 'status', ...refusal });
    const { status, body } = await embed({ input: fresh() }, own);
    expect([status, body.error.code, body.error.param]).toEqual([502, 'provider_unavailable', 'input']);
    expect(body.error.message).toMatch(
      /^the primary model is unavailable \(vendor-a\/text-embedding-3-small: \w+\), and its fallback vendor-d\/bge-m3-ko refused /,
    );
    expect(body.error.message).toContain('rejected the input');
    expect(body.error.message).toMatch(
      /; a retry does not help while vendor-a\/text-embedding-3-small is unavailable$/,
    );
  });

  it('a text that is too long for the fallback only is named while the primary is down', async () => {
    const own = await test.key({ org: 'routing-too-long', scopes: ['embed', 'routing:manage'] });
    await route({ primary: 'vendor-b/embedding-001', fallback: SMALL, mode: 'fallback' }, own);
    const long = 'word '.repeat(9_000);
    const one = (await embed({ input: long }, own)).body.error;
    expect(one).toMatchObject({ code: 'provider_unavailable', param: 'input' });
    expect(one.message).toContain(`its fallback ${SMALL} refused the request: input has 9`);
    const listed = await embed({ input: ['short', long] }, own);
    expect([listed.status, listed.body.error.param]).toEqual([502, 'input[1]']);
    expect(listed.body.error.message).toContain('takes at most 8191');
    expect(listed.body.error.message).not.toContain('try again later');
  });

  it('mode single never falls back', async () => {
    const own = await test.key({ org: 'routing-single', scopes: ['embed', 'routing:manage'] });
    await route({ primary: LARGE, fallback: KOREAN, mode: 'single' }, own);
    test.upstream.decide = () => ({ kind: 'status', status: 503 });
    expect((await embed({ input: fresh() }, own)).status).toBe(502);
  });
});
