import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { defineRoute } from '../../../server/route.ts';
import { deleteBucket, echo } from '../sample-routes.ts';
import { RawClient, startTestServer } from '../support.ts';

describe('replies', () => {
  test('replies are written with status, headers, and empty, buffer or stream bodies', async () => {
    const base = {
      method: 'GET',
      access: 'public',
      errors: 'detail',
      reads: 'none',
      summary: '',
      responses: {},
    } as const;
    const server = await startTestServer([
      deleteBucket,
      defineRoute({
        ...base,
        path: '/buffer',
        operationId: 'buffer',
        async handle() {
          return { status: 202, body: Buffer.from('[1]'), type: 'application/json' };
        },
      }),
      defineRoute({
        ...base,
        path: '/stream',
        operationId: 'stream',
        async handle() {
          return { body: Readable.from(['a', 'b']), type: 'text/plain' };
        },
      }),
    ]);
    const options = { method: 'DELETE', headers: { Authorization: 'Bearer buckets:manage' } };
    const empty = await fetch(`${server.url}/v1/buckets/a`, options);
    expect([empty.status, await empty.text()]).toEqual([204, '']);
    const buffer = await fetch(`${server.url}/buffer`);
    expect([buffer.status, buffer.headers.get('content-type'), await buffer.json()]).toEqual([
      202,
      'application/json',
      [1],
    ]);
    const stream = await fetch(`${server.url}/stream`);
    expect([stream.headers.get('content-type'), await stream.text()]).toEqual(['text/plain', 'ab']);
  });

  test('several requests share one connection', async () => {
    const server = await startTestServer([echo]);
    const client = await RawClient.connect(server.port);
    const body = '{"input":"a"}';
    const request = `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer embed\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    client.write(request + request);
    await client.until(/(HTTP\/1\.1 200 OK[\s\S]*){2}\}$/);
    client.write(request);
    await client.until(/(HTTP\/1\.1 200 OK[\s\S]*){3}\}$/);
    expect(client.received).not.toMatch(/Connection: close/i);
  });
});
