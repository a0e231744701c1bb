import { expect, test } from 'vitest';
import { z } from 'zod';
import { BodyMemory } from '../../../server/body/body-memory.ts';
import { defineRoute } from '../../../server/route.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { postJson, startTestServer } from '../support.ts';

const MIB = 1024 * 1024;

/** Body of 5 MiB, and one that is too small to be counted. */
const LARGE = JSON.stringify({ text: 'x'.repeat(5 * MIB) });
const SMALL = '{"text":"x"}';

/** Start a route whose handler waits until a test ends it. */
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
    bodyLimitBytes: 6 * MIB,
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
  const server = await startTestServer([route], { settings: { bodyMemory: new BodyMemory(8 * MIB) } });
  return {
    post: (body: string) => postJson(server, '/v1/waiting', body),
    /** Send a large request; resolves once its handler waits. */
    async begin() {
      const isWaiting = new Promise<void>((resolve) => {
        called = resolve;
      });
      const response = postJson(server, '/v1/waiting', LARGE);
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
  expect([busy.status, busy.headers.get('retry-after')]).toEqual([503, '5']);
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
