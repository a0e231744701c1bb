import { connect } from 'node:net';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
let key: string;

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key();
});
afterAll(() => test.close());

const embed = (json: unknown, headers: Record<string, string> = {}) =>
  test.call('POST', '/v1/embeddings', { key, json, headers });
const norm = (vector: number[]) => Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));

describe('POST /v1/embeddings', () => {
  it('a string is answered with one unit vector of 1,024 dimensions', async () => {
    const { status, body, headers } = await embed({ input: 'hello world' });
    expect(status).toBe(200);
    expect(body).toMatchObject({ object: 'list', model: 'local/lexical-1', data: [{ object: 'embedding', index: 0 }] });
    expect(body.data[0].embedding).toHaveLength(1024);
    expect(norm(body.data[0].embedding)).toBeCloseTo(1, 5);
    expect(body.usage.prompt_tokens).toBeGreaterThan(0);
    expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens);
    expect(headers.get('x-service-projection')).toBe('uncalibrated');
    expect(headers.get('x-request-id')).toMatch(/\S+/);
  });

  it('vectors come in the order of the list, and each text gets the vector it gets alone', async () => {
    const texts = ['first text', '두 번째 글', 'first text', 'a'.repeat(5000)];
    const { body } = await embed({ input: texts });
    expect(body.data.map((item: { index: number }) => item.index)).toEqual([0, 1, 2, 3]);
    for (const [index, text] of texts.entries()) {
      const alone = await embed({ input: text });
      expect(body.data[index].embedding).toEqual(alone.body.data[0].embedding);
    }
  });

  it.each([1, 2, 256, 1024, 1500, 4096])(
    'a vector of %i dimensions is the normalised prefix of the full one',
    async (dimensions) => {
      const full = (await embed({ input: 'a quick brown fox' })).body.data[0].embedding as number[];
      const { body, headers } = await embed({ input: 'a quick brown fox', dimensions });
      const vector = body.data[0].embedding as number[];
      expect(vector).toHaveLength(dimensions);
      const prefix = [...full, ...new Array(4096).fill(0)].slice(0, dimensions);
      const scale = norm(prefix) === 0 ? 1 : 1 / norm(prefix);
      for (const [i, x] of vector.entries())
        if (norm(prefix) > 0) expect(x).toBeCloseTo((prefix[i] as number) * scale, 5);
      expect(headers.get('x-service-effective-dimensions')).toBe(dimensions > 1024 ? '1024' : null);
    },
  );

  it.each([
    ['int8', 1024, -127, 127],
    ['uint8', 1024, 1, 255],
    ['binary', 128, -128, 127],
    ['ubinary', 128, 0, 255],
  ])('output_dtype %s is answered with %i integers, also in base64', async (output_dtype, length, min, max) => {
    const input = ['bytes of a vector', 'and of another one'];
    const { status, body } = await embed({ input, output_dtype });
    expect(status).toBe(200);
    const base64 = (await embed({ input, output_dtype, encoding_format: 'base64' })).body.data;
    for (const [index, { embedding }] of body.data.entries()) {
      expect(embedding).toHaveLength(length);
      expect(new Set(embedding).size).toBeGreaterThan(2);
      for (const value of embedding) expect(Number.isInteger(value) && value >= min && value <= max).toBe(true);
      expect([...Buffer.from(base64[index].embedding, 'base64')]).toEqual(embedding.map((v: number) => v & 0xff));
    }
  });

  it('an unknown output_dtype is refused with the ones that exist', async () => {
    const { status, body } = await embed({ input: 'text', output_dtype: 'int4' });
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ param: 'output_dtype', message: expect.stringContaining('ubinary') });
  });

  it.each([
    ['no input', {}, 'input'],
    ['an empty text', { input: '' }, 'input'],
    ['an empty list', { input: [] }, 'input'],
    ['an empty text in a list', { input: ['a', ''] }, 'input[1]'],
    ['token ids', { input: [1, 2, 3] }, 'input[0]'],
    ['lists of token ids', { input: [[1, 2], [3]] }, 'input[0]'],
    ['an object', { input: { text: 'a' } }, 'input'],
    ['101 texts', { input: new Array(101).fill('a') }, 'input'],
    ['an unknown model', { input: 'a', model: 'gpt-unknown' }, 'model'],
    ['0 dimensions', { input: 'a', dimensions: 0 }, 'dimensions'],
    ['4,097 dimensions', { input: 'a', dimensions: 4097 }, 'dimensions'],
    ['dimensions as text', { input: 'a', dimensions: '256' }, 'dimensions'],
    ['half a dimension', { input: 'a', dimensions: 1.5 }, 'dimensions'],
    ['an unknown task type', { input: 'a', task_type: 'guess' }, 'task_type'],
    ['a model that is no text', { input: 'a', model: 7 }, 'model'],
    ['too many tokens', { input: 'word '.repeat(30_000) }, 'input'],
    ['too many tokens in a list of one text', { input: ['word '.repeat(30_000)] }, 'input[0]'],
  ])('a request with %s is refused', async (_label, json, param) => {
    const { status, body, headers } = await embed(json);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: 'invalid_request_error', param, code: expect.any(String) });
    expect(body.error.message).toMatch(/\S+ \S+/);
    expect(body.request_id).toBe(headers.get('x-request-id'));
  });

  it('the message names a text by its place in a list, and a text that is no list as the input', async () => {
    const input = 'word '.repeat(30_000);
    expect((await embed({ input })).body.error.message).toMatch(/^input has /);
    expect((await embed({ input: [input] })).body.error.message).toMatch(/^input\[0\] has /);
  });

  it('the error for more than 100 texts names the bulk endpoint, and the error for numbers asks for strings', async () => {
    expect((await embed({ input: new Array(101).fill('a') })).body.error.message).toContain('/v1/embed/jobs');
    expect((await embed({ input: [1] })).body.error.message).toContain('must be strings');
  });

  it('members that are ignored are accepted', async () => {
    const json = {
      input: 'a',
      encoding_format: 'other',
      user: 'u',
      unknown: { x: 1 },
      dimensions: null,
      task_type: null,
    };
    const { status, body } = await embed(json);
    expect(status).toBe(200);
    expect(Array.isArray(body.data[0].embedding)).toBe(true);
  });

  it('a model of a vendor that is not configured is a 502', async () => {
    const { status, body } = await embed({ input: 'a', model: 'vendor-a/text-embedding-3-small' });
    expect(status).toBe(502);
    expect(body.error.code).toBe('provider_unavailable');
  });

  it.each(['\u0000', '\ud800 lone', '﷽'.repeat(2000), '\u202e\u200d🏳️‍🌈'])(
    'an odd text gets a unit vector: %#',
    async (input) => {
      const { status, body } = await embed({ input });
      expect(status).toBe(200);
      expect(norm(body.data[0].embedding)).toBeCloseTo(1, 5);
    },
  );
});

describe('callers of POST /v1/embeddings', () => {
  it.each([
    ['no key', {}],
    ['a wrong key', { Authorization: 'Bearer svc_nope' }],
    ['another scheme', { Authorization: 'Basic abc' }],
  ])('a request with %s is a 401', async (_label, headers) => {
    const answer = await test.call('POST', '/v1/embeddings', { json: { input: 'a' }, headers });
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer/);
    expect(answer.body.error.type).toBe('authentication_error');
  });

  it('a key without the scope embed is a 403', async () => {
    const answer = await test.call('POST', '/v1/embeddings', {
      key: await test.key({ scopes: ['search'] }),
      json: { input: 'a' },
    });
    expect(answer.status).toBe(403);
    expect(answer.body.error.message).toContain('embed');
  });

  it('a wrong method, content type, size and path each have their own status', async () => {
    const put = await test.call('PUT', '/v1/embeddings', { key, json: {} });
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST']);
    const text = await test.call('POST', '/v1/embeddings', {
      key,
      body: 'input=a',
      headers: { 'Content-Type': 'text/plain' },
    });
    expect(text.status).toBe(415);
    const large = await test.call('POST', '/v1/embeddings', { key, json: { input: 'x'.repeat(17 * 1024 * 1024) } });
    expect(large.status).toBe(413);
    expect(large.body.error.message).toMatch(/\S+/);
    const nowhere = await test.call('GET', '/v1/nowhere', { key });
    expect([nowhere.status, Object.keys(nowhere.body)]).toEqual([404, ['detail']]);
  });
});

describe('POST /v1/embed', () => {
  it('POST /v1/embed answers 410 without asking for a key', async () => {
    const { status, body, headers } = await test.call('POST', '/v1/embed', { body: 'not even JSON' });
    expect(status).toBe(410);
    expect(body).toMatchObject({
      error: { code: 'endpoint_retired', details: { successor: { method: 'POST', path: '/v1/embeddings' } } },
      request_id: headers.get('x-request-id'),
    });
    expect((await test.call('POST', '/v1/embed?x=%00')).status).toBe(410);
  });

  it('POST /v1/embed answers before any byte of the body has arrived', async () => {
    const { hostname, port } = new URL(test.api.url);
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(port), hostname, () =>
        socket.write('POST /v1/embed HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n'),
      );
      socket.on('data', (data) => {
        resolve(data.toString());
        socket.destroy();
      });
      socket.on('error', reject);
    });
    expect(answer).toMatch(/^HTTP\/1\.1 410 /);
  });
});

describe('GET /v1/models', () => {
  it('the list of models is the catalog, with the models that are available', async () => {
    const { body } = await test.call('GET', '/v1/models', { key });
    expect(body.data).toHaveLength(13);
    expect(body.data.find((model: { id: string }) => model.id === 'local/lexical-1')).toMatchObject({
      kind: 'lexical',
      available: true,
      default_dimension: 1024,
      variable_dimensions: true,
    });
    expect(body.data.filter((model: { available: boolean }) => model.available)).toHaveLength(3);
  });

  it('a model is read by an id with a slash, and an unknown id is a 404', async () => {
    expect((await test.call('GET', '/v1/models/vendor-d/bge-m3-ko', { key })).body).toMatchObject({
      id: 'vendor-d/bge-m3-ko',
      available: false,
    });
    expect((await test.call('GET', '/v1/models/service-embed-1-small', { key })).body.kind).toBe('alias');
    expect((await test.call('GET', '/v1/models/no/such', { key })).status).toBe(404);
  });
});

describe('the official OpenAI client, unchanged', () => {
  const client = () => new OpenAI({ apiKey: key, baseURL: `${test.api.url}/v1` });

  it('the OpenAI client embeds a string and a list, in the requested dimension, with its own encoding', async () => {
    const one = await client().embeddings.create({ model: 'service-embed-1-small', input: 'hello' });
    expect(one.data[0]?.embedding).toHaveLength(1024);
    expect(norm(one.data[0]?.embedding ?? [])).toBeCloseTo(1, 5);
    const many = await client().embeddings.create({
      model: 'service-embed-1-small',
      input: ['a', 'b'],
      dimensions: 256,
    });
    expect(many.data.map((item) => item.embedding.length)).toEqual([256, 256]);
    const float = await client().embeddings.create({
      model: 'local/lexical-1',
      input: 'hello',
      encoding_format: 'float',
    });
    expect(float.data[0]?.embedding).toEqual(one.data[0]?.embedding);
  });

  it('the OpenAI client lists models and understands errors', async () => {
    const ids = (await client().models.list()).data.map((model) => model.id);
    expect(ids).toContain('service-embed-1-small');
    await expect(client().embeddings.create({ model: 'nope', input: 'x' })).rejects.toMatchObject({
      status: 400,
      code: 'unknown_model',
    });
  });
});

it('base64 is honoured if the operator allows it', async () => {
  const withBase64 = await openTestApi({ worker: false, settings: { embeddings: { base64: 'always' } } });
  try {
    const options = { key: await withBase64.key(), json: { input: 'hello', encoding_format: 'base64' } };
    const { body } = await withBase64.call('POST', '/v1/embeddings', options);
    const bytes = Buffer.from(body.data[0].embedding, 'base64');
    const plain = await withBase64.call('POST', '/v1/embeddings', { ...options, json: { input: 'hello' } });
    expect([...new Float32Array(Uint8Array.from(bytes).buffer)]).toEqual(plain.body.data[0].embedding.map(Math.fround));
  } finally {
    await withBase64.close();
  }
});
