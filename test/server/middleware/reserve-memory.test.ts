import { expect, test } from 'vitest';
import { z } from 'zod';
import { BodyMemory } from '../../../server/body/body-memory.ts';
import { defineRoute } from '../../../server/route.ts';
import type { Caller } from '../../../src/access/caller.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { parseResponse, postJson, RawClient, startTestServer } from '../support.ts';

const MIB = 1024 * 1024;

/** Body of 5 MiB, and one that is too small to be counted. */
const LARGE = JSON.stringify({ text: 'x'.repeat(5 * MIB) });
const SMALL = '{"text":"x"}';

/** Resolve `Bearer <organization>`. */
async function resolveCaller(authorization: string | undefined): Promise<Caller> {
  const orgId = authorization?.split(' ')[1] ?? '';
  return {
    ...{ kind: 'api_key', actor: 'key:test', orgId, plan: 'enterprise', userId: null, role: null, department: null },
    scopes: new Set(['embed']),
    authLevel: 5,
  };
}

/** Start a route whose handler waits until a test ends it. One body may have 8 MiB. */
async function startWaiting() {
  const waiting: ((error?: AppError) => void)[] = [];
  let called = () => {};
  const route = defineRoute({
    method: 'POST',
    path: '/v1/waiting',
    operationId: 'waiting',
    summary: 'Waits',
    access: 'embed',
    errors: 'detail',
    reads: 'json',
    bodyLimitBytes: 8 * MIB,
    body: z.object({ text: z.string() }),
    responses: {},
    async handle({ body }) {
      if (body.text.length > 1) {
        await new Promise<void>((resolve, reject) => {
          waiting.push((error) => (error ? reject(error) : resolve()));
          called();
        });
      }
      return { body: { done: true } };
    },
  });
  const server = await startTestServer([route], { settings: { bodyMemory: new BodyMemory(8 * MIB), resolveCaller } });
  const post = (body: string, org = 'one') => postJson(server, '/v1/waiting', body, { Authorization: `Bearer ${org}` });
  return {
    port: server.port,
    post,
    /** Send a large request; resolves once its handler waits. */
    async begin(org = 'one', body = LARGE) {
      const isWaiting = new Promise<void>((resolve) => {
        called = resolve;
      });
      const response = post(body, org);
      await isWaiting;
      const end = waiting.shift() as (error?: AppError) => void;
      return { response, end };
    },
  };
}

test('a second large body is refused until the handler of the first is done, and small bodies are not', async () => {
  const { post, begin } = await startWaiting();
  const first = await begin();
  const busy = await post(LARGE);
  expect([busy.status, busy.headers.get('retry-after'), await busy.json()]).toEqual([
    503,
    '5',
    { detail: 'other large requests of your organization are being read; try again' },
  ]);
  expect((await post(SMALL)).status).toBe(200);
  first.end();
  expect((await first.response).status).toBe(200);
  const second = await begin();
  second.end();
  expect((await second.response).status).toBe(200);
});

test('the memory is released after a handler that fails and after a body that is refused', async () => {
  const { post, begin } = await startWaiting();
  const first = await begin();
  first.end(new AppError({ code: 'it_failed', status: 409, message: 'it failed' }));
  expect((await first.response).status).toBe(409);
  expect((await post(LARGE.slice(0, -1))).status).toBe(400);
  const second = await begin();
  second.end();
  expect((await second.response).status).toBe(200);
});

test('bodies that are announced and do not arrive take no memory from other requests', async () => {
  const { port, begin } = await startWaiting();
  for (let i = 0; i < 10; i++) {
    const client = await RawClient.connect(port);
    const length = i % 2 === 0 ? `Content-Length: ${8 * MIB}` : 'Transfer-Encoding: chunked';
    client.write(
      `POST /v1/waiting HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer slow\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
    );
  }
  for (const org of ['slow', 'other']) {
    const { response, end } = await begin(org);
    end();
    expect((await response).status).toBe(200);
  }
});

test('an organization whose bodies take all that it may have leaves memory to the others', async () => {
  const { port, begin } = await startWaiting();
  const first = await begin('greedy');
  // The second body has no room once 3 MiB of it have arrived, and its client is told so at once.
  const client = await RawClient.connect(port);
  client.write(
    `POST /v1/waiting HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer greedy\r\nContent-Type: application/json\r\nContent-Length: ${6 * MIB}\r\n\r\n${LARGE.slice(0, 4 * MIB)}`,
  );
  expect(parseResponse(await client.closedByServer())).toMatchObject({
    status: 503,
    json: { detail: expect.stringContaining('of your organization') },
  });
  const modest = JSON.stringify({ text: 'x'.repeat(2 * MIB) });
  const others = await begin('other', modest);
  for (const { response, end } of [others, first]) {
    end();
    expect((await response).status).toBe(200);
  }
});
