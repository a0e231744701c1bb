import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../server/route.ts';
import { createTestRandom, type SeededRandom } from '../../support/random.ts';
import { parseResponse, postJson, RawClient, startTestServer, type TestServer } from '../support.ts';

const declaration = {
  method: 'POST',
  path: '/v1/embeddings',
  summary: 'Any object',
  access: 'embed',
  errors: 'embedding',
  reads: 'json',
  responses: {},
} as const;

const anything = defineRoute({
  ...declaration,
  operationId: 'anything',
  body: z.looseObject({}),
  async handle({ body }) {
    return { body: { keys: Object.keys(body), body, polluted: 'polluted' in {} } };
  },
});

async function fault(response: Response): Promise<[status: number, code: string, message: string]> {
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  return [response.status, error.code, error.message];
}

function send(server: TestServer, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
  return postJson(server, '/v1/embeddings', body, headers);
}

describe('a JSON body', () => {
  test('a JSON body must not be empty, and must be a JSON object', async () => {
    const server = await startTestServer([anything]);
    expect(await fault(await send(server, ''))).toEqual([400, 'empty_body', 'the body is empty; send a JSON object']);
    for (const text of ['{', '{"a":1}x', "{'a':1}", '{"a":NaN}', '\0', '{"a":"\u0001"}', 'undefined']) {
      expect(await fault(await send(server, text))).toEqual([400, 'invalid_json', 'the body is not valid JSON']);
    }
    for (const text of ['[]', '[{"a":1}]', '"a"', '1', 'true', 'null']) {
      expect(await fault(await send(server, text))).toEqual([400, 'invalid_json', 'the body must be a JSON object']);
    }
  });

  test('a JSON body must be UTF-8, and may have a byte order mark and escaped lone surrogates', async () => {
    const server = await startTestServer([anything]);
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5, 0x80, 0x80, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(await fault(await send(server, body))).toEqual([400, 'invalid_utf8', 'the body is not valid UTF-8']);
    }
    const surrogate = await send(server, '{"a":"\\ud800"}');
    expect([surrogate.status, await surrogate.json()]).toMatchObject([200, { body: { a: '\ud800' } }]);
    const mark = await send(server, '\ufeff{"a":"한국어 🙂"}');
    expect(await mark.json()).toMatchObject({ body: { a: '한국어 🙂' } });
  });

  test('a JSON body must not have prototype keys at any depth', async () => {
    const server = await startTestServer([anything]);
    for (const text of [
      '{"__proto__":{"polluted":1}}',
      '{"a":[{"__proto__":{"polluted":1}}]}',
      '{"\\u005f_proto__":{"polluted":1}}',
      '{"__proto__":1}',
      '{"constructor":{"prototype":{"polluted":1}}}',
    ]) {
      const [status, code] = await fault(await send(server, text));
      expect([status, code]).toEqual([400, 'forbidden_key']);
    }
    const harmless = await send(server, '{"constructor":"Gaudí","prototype":{"a":1}}');
    expect(await harmless.json()).toMatchObject({ keys: ['constructor', 'prototype'], polluted: false });
  });

  test('a JSON body is bounded in depth and in number of values', async () => {
    const server = await startTestServer([anything], { bodyBytes: 1024 * 1024 });
    const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`;
    expect((await send(server, nested(64))).status).toBe(200);
    expect((await send(server, nested(65))).status).toBe(400);
    expect((await send(server, nested(10_000))).status).toBe(400);
    expect((await send(server, `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`)).status).toBe(400);
    expect((await send(server, `{"a":${'['.repeat(500_000)}`)).status).toBe(400);
    expect((await send(server, JSON.stringify({ a: new Array(9_999).fill(0) }))).status).toBe(200);
    const [status, , message] = await fault(await send(server, JSON.stringify({ a: new Array(10_000).fill(0) })));
    expect([status, message]).toEqual([400, 'the body holds more than 10000 values']);
  });

  test.each([
    ['application/json'],
    ['application/json; charset=utf-8'],
    ['application/json;charset="UTF-8"'],
    ['Application/JSON'],
    ['application/vnd.api+json'],
  ])('a JSON body may have the content type %s', async (type) => {
    const server = await startTestServer([anything]);
    expect((await send(server, '{"a":1}', { 'Content-Type': type })).status).toBe(200);
  });

  test.each([
    ['text/plain'],
    ['application/x-www-form-urlencoded'],
    ['multipart/form-data; boundary=x'],
    ['application/json; charset=utf-16'],
    ['application/jsonp'],
    ['json'],
  ])('a JSON body must not have the content type %s', async (type) => {
    const server = await startTestServer([anything]);
    expect((await send(server, '{"a":1}', { 'Content-Type': type })).status).toBe(415);
  });

  test('a JSON body must have a content type and must not be compressed', async () => {
    const server = await startTestServer([anything]);
    const client = await RawClient.connect(server.port);
    client.write(
      'POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer embed\r\nContent-Length: 2\r\n\r\n{}',
    );
    expect(await client.until(/\}$/)).toContain('415 Unsupported Media Type');
    const [status, code] = await fault(await send(server, '{}', { 'Content-Encoding': 'gzip' }));
    expect([status, code]).toEqual([415, 'unsupported_content_encoding']);
  });

  test('a JSON body is bounded by its announced length, and while it arrives', async () => {
    const server = await startTestServer([anything], { bodyBytes: 1000 });
    const fits = JSON.stringify({ a: 'x'.repeat(992) });
    expect(fits).toHaveLength(1000);
    expect((await send(server, fits)).status).toBe(200);
    expect(await fault(await send(server, `${fits} `))).toEqual([
      413,
      'body_too_large',
      'the body is larger than the limit of 1000 bytes',
    ]);
    const client = await RawClient.connect(server.port);
    client.write(
      'POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer embed\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    const chunk = `200\r\n${' '.repeat(512)}\r\n`;
    client.write(chunk + chunk);
    const { status, headers, json } = parseResponse(await client.closedByServer());
    expect([status, headers.get('connection'), json]).toMatchObject([
      413,
      'close',
      { error: { code: 'body_too_large' } },
    ]);
  });

  test('a large JSON body arrives whole, whether its size is announced or not', async () => {
    const server = await startTestServer([anything], { bodyBytes: 8_000_000 });
    for (const chars of [262_144, 262_145, 1_048_576, 5_000_000]) {
      const text = Array.from({ length: Math.ceil(chars / 8) }, (_, nth) => String(nth).padStart(8))
        .join('')
        .slice(-chars);
      const bytes = Buffer.from(JSON.stringify({ text }));
      const pieces = () =>
        new ReadableStream<Uint8Array>({
          start(controller) {
            for (let at = 0; at < bytes.length; at += 100_003) controller.enqueue(bytes.subarray(at, at + 100_003));
            controller.close();
          },
        });
      for (const body of [bytes, pieces()]) {
        const response = await fetch(`${server.url}/v1/embeddings`, {
          method: 'POST',
          headers: { Authorization: 'Bearer embed', 'Content-Type': 'application/json' },
          ...{ body, duplex: 'half' },
        });
        const reply = (await response.json()) as { body: { text: string } };
        expect(reply.body.text === text).toBe(true);
      }
    }
  });

  test('a JSON body has the bound of its route if the route has one', async () => {
    const large = defineRoute({
      ...declaration,
      operationId: 'large',
      bodyLimitBytes: 2000,
      body: z.looseObject({}),
      async handle() {
        return { body: {} };
      },
    });
    const server = await startTestServer([large], { bodyBytes: 1000 });
    expect((await send(server, JSON.stringify({ a: 'x'.repeat(1500) }))).status).toBe(200);
    expect((await send(server, JSON.stringify({ a: 'x'.repeat(2500) }))).status).toBe(413);
  });

  test('a JSON body may be absent if its schema is optional', async () => {
    const optional = defineRoute({
      ...declaration,
      operationId: 'optional',
      body: z.object({ force: z.boolean() }).optional(),
      async handle({ body }) {
        return { body: { sent: body ?? null } };
      },
    });
    const server = await startTestServer([optional]);
    const url = `${server.url}/v1/embeddings`;
    const none = await fetch(url, { method: 'POST', headers: { Authorization: 'Bearer embed' } });
    expect([none.status, await none.json()]).toEqual([200, { sent: null }]);
    expect(await (await send(server, '{"force":true}')).json()).toEqual({ sent: { force: true } });
    expect((await send(server, '{"force":1}')).status).toBe(400);
  });

  test('a random or damaged JSON body is never a 500, and its error has the usual shape', async () => {
    const strict = defineRoute({
      ...declaration,
      operationId: 'strict',
      body: z.object({
        input: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(100)]),
        metadata: z.record(z.string(), z.unknown()).optional(),
      }),
      async handle() {
        return { body: {} };
      },
    });
    const server = await startTestServer([strict]);
    const random = createTestRandom('bodies of random bytes');
    const seed = JSON.stringify({ input: ['텍스트', 'b'], metadata: { a: { b: [1, null, true, 1e9, '\ud800'] } } });
    const statuses = new Set<number>();
    for (let i = 0; i < 200; i++) {
      const response = await send(server, i % 4 === 0 ? randomBytes(random) : mutate(seed, random));
      statuses.add(response.status);
      const body = (await response.json()) as Record<string, unknown>;
      if (response.status === 200) continue;
      expect(response.status).toBe(400);
      expect(body).toMatchObject({
        error: { type: 'invalid_request_error' },
        request_id: response.headers.get('x-request-id'),
      });
    }
    expect(statuses).toContain(400);
    expect((await send(server, '{"input":"still alive"}')).status).toBe(200);
  });
});

function randomBytes(random: SeededRandom): Uint8Array {
  return Uint8Array.from({ length: random.int(300) }, () => random.int(256));
}

function mutate(text: string, random: SeededRandom): Uint8Array {
  let bytes = Buffer.from(text);
  for (let edits = 1 + random.int(4); edits > 0; edits--) {
    const at = random.int(bytes.length);
    const insert = ['"', '{', '[', ',', '\\u', '__proto__', '\xff', '1e999', '-', '}'][random.int(10)] ?? '';
    bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from(insert, 'latin1'), bytes.subarray(at + random.int(6))]);
  }
  return bytes;
}
