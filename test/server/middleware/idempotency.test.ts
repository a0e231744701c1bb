import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../server/route.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { memoryIdempotency, postJson, startTestServer } from '../support.ts';

/** Make a route that counts its creations; `{"wait": true}` waits for `release`, `{"fail": true}` fails. */
function creating() {
  let created = 0;
  const gate = Promise.withResolvers<void>();
  const called = Promise.withResolvers<void>();
  const route = defineRoute({
    method: 'POST',
    path: '/v1/buckets/:bucket/things',
    operationId: 'create',
    summary: 'Creates',
    access: 'caller',
    errors: 'detail',
    reads: 'json',
    idempotent: true,
    params: z.object({ bucket: z.string() }),
    body: z.object({ name: z.string(), wait: z.boolean().optional(), fail: z.boolean().optional() }),
    responses: {},
    async handle({ body }) {
      if (body.wait) {
        called.resolve();
        await gate.promise;
      }
      if (body.fail) throw new AppError({ code: 'nope', status: 404, message: 'nope' });
      created++;
      return { status: 202, body: { name: body.name, number: created } };
    },
  });
  return { route, release: gate.resolve, called: called.promise, created: () => created };
}

const key = { 'Idempotency-Key': 'k1' };
const things = '/v1/buckets/a/things';

describe('Idempotency-Key', () => {
  test('a repeated request gets the first response, for any order of its fields', async () => {
    const { route, created } = creating();
    const server = await startTestServer([route]);
    const first = await postJson(server, things, '{"name":"n","wait":false}', key);
    const second = await postJson(server, things, '{ "wait":false, "name":"n" }', key);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([202, null]);
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
    expect(await second.text()).toBe(await first.text());
    expect(created()).toBe(1);
  });

  test('another body or path with the same key is refused with 422', async () => {
    const { route, created } = creating();
    const server = await startTestServer([route]);
    await postJson(server, things, { name: 'n' }, key);
    const body = await postJson(server, things, { name: 'm' }, key);
    expect([body.status, await body.json()]).toEqual([422, { detail: 'used with another request' }]);
    expect((await postJson(server, '/v1/buckets/b/things', { name: 'n' }, key)).status).toBe(422);
    expect(created()).toBe(1);
  });

  test('a second request is refused with 409 while the first is in progress', async () => {
    const { route, release, called, created } = creating();
    const server = await startTestServer([route]);
    const first = postJson(server, things, { name: 'n', wait: true }, key);
    await called;
    expect((await postJson(server, things, { name: 'n', wait: true }, key)).status).toBe(409);
    release();
    expect((await first).status).toBe(202);
    expect(created()).toBe(1);
  });

  test('a failed or invalid request releases its key', async () => {
    const { route, created } = creating();
    const server = await startTestServer([route]);
    expect((await postJson(server, things, { name: 3 }, key)).status).toBe(400);
    expect((await postJson(server, things, { name: 'n', fail: true }, key)).status).toBe(404);
    expect((await postJson(server, things, { name: 'n' }, key)).status).toBe(202);
    expect(created()).toBe(1);
  });

  test('a request without a key is not stored, and an invalid key is refused with 400', async () => {
    const { route, created } = creating();
    const idempotency = memoryIdempotency();
    const server = await startTestServer([route], { settings: { idempotency } });
    await postJson(server, things, { name: 'n' });
    await postJson(server, things, { name: 'n' });
    expect([created(), idempotency.keys.size]).toEqual([2, 0]);
    expect((await postJson(server, things, { name: 'n' }, { 'Idempotency-Key': 'k'.repeat(256) })).status).toBe(400);
    expect((await postJson(server, things, { name: 'n' }, { 'Idempotency-Key': '' })).status).toBe(400);
  });

  test('a request succeeds even if its response could not be stored', async () => {
    const { route } = creating();
    const idempotency = { ...memoryIdempotency(), finish: () => Promise.reject(new Error('the database is away')) };
    const server = await startTestServer([route], { settings: { idempotency } });
    expect((await postJson(server, things, { name: 'n' }, key)).status).toBe(202);
  });
});
