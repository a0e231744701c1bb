import { describe, expect, test } from 'vitest';
import { auth, bucket, echo } from '../sample-routes.ts';
import { postJson, startTestServer } from '../support.ts';

describe('validation', () => {
  test('path and query parameters are parsed by their schemas', async () => {
    const server = await startTestServer([bucket]);
    const response = await fetch(`${server.url}/v1/buckets/a%20b?limit=7&tag=x&tag=y&unknown=1&__proto__=2`, {
      headers: auth,
    });
    expect(await response.json()).toEqual({ params: { bucket: 'a b' }, query: { limit: 7, tag: ['x', 'y'] } });
    const wrong = await fetch(`${server.url}/v1/buckets/a?limit=999`, { headers: auth });
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toEqual({ detail: 'limit: must be at most 200' });
    const nul = await fetch(`${server.url}/v1/buckets/a%00b`, { headers: auth });
    expect(nul.status).toBe(400);
  });

  test('a fault of the body names its place in message and param', async () => {
    const server = await startTestServer([echo]);
    const response = await postJson(server, '/v1/embeddings', { input: ['a', 'b', 'c', 3] });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: 'input[3]: must be a string',
        type: 'invalid_request_error',
        param: 'input[3]',
        code: 'invalid_request',
      },
      request_id: response.headers.get('x-request-id'),
    });
  });

  test('unknown fields of the body are ignored', async () => {
    const server = await startTestServer([echo]);
    const response = await postJson(server, '/v1/embeddings', { input: 'a', user: 'u' });
    expect(await response.json()).toMatchObject({ body: { input: 'a' } });
  });
});
