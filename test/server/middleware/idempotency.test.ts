import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../server/route.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { memoryIdempotency, postJson, startFrame } from '../support.ts';

/** A route that counts what it creates; `{"wait": true}` waits for `release`, `{"fail": true}` fails. */
function creating() {
  let created = 0;
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
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
        reached.resolve();
        await gate.promise;
      }
      if (body.fail) throw new AppError({ code: 'nope', status: 404, message: 'nope' });
      created++;
      return { status: 202, body: { name: body.name, number: created } };
    },
  });
  return { route, release: gate.resolve, reached: reached.promise, created: () => created };
}

const key = { 'Idempotency-Key': 'k1' };
const things = '/v1/buckets/a/things';

describe('Idempotency-Key', () => {
  test('the same request again gets the first response, whatever the order of its fields', async () => {
    const { route, created } = creating();
    const frame = await startFrame([route]);
    const first = await postJson(frame, things, '{"name":"n","wait":false}', key);
    const second = await postJson(frame, things, '{ "wait":false, "name":"n" }', key);
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([202, null]);
    expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
    expect(await second.text()).toBe(await first.text());
    expect(created()).toBe(1);
  });

  test('another body, path or query under the same key is 422', async () => {
    const { route, created } = creating();
    const frame = await startFrame([route]);
    await postJson(frame, things, { name: 'n' }, key);
    const body = await postJson(frame, things, { name: 'm' }, key);
    expect([body.status, await body.json()]).toEqual([422, { detail: 'used with another request' }]);
    expect((await postJson(frame, '/v1/buckets/b/things', { name: 'n' }, key)).status).toBe(422);
    expect(created()).toBe(1);
  });

  test('while the first request is in progress the second is 409', async () => {
    const { route, release, reached, created } = creating();
    const frame = await startFrame([route]);
    const first = postJson(frame, things, { name: 'n', wait: true }, key);
    await reached;
    expect((await postJson(frame, things, { name: 'n', wait: true }, key)).status).toBe(409);
    release();
    expect((await first).status).toBe(202);
    expect(created()).toBe(1);
  });

  test('a failed or invalid request frees its key', async () => {
    const { route, created } = creating();
    const frame = await startFrame([route]);
    expect((await postJson(frame, things, { name: 3 }, key)).status).toBe(400);
    expect((await postJson(frame, things, { name: 'n', fail: true }, key)).status).toBe(404);
    expect((await postJson(frame, things, { name: 'n' }, key)).status).toBe(202);
    expect(created()).toBe(1);
  });

  test('without a key nothing is kept; an impossible key is 400', async () => {
    const { route, created } = creating();
    const idempotency = memoryIdempotency();
    const frame = await startFrame([route], { settings: { idempotency } });
    await postJson(frame, things, { name: 'n' });
    await postJson(frame, things, { name: 'n' });
    expect([created(), idempotency.keys.size]).toEqual([2, 0]);
    expect((await postJson(frame, things, { name: 'n' }, { 'Idempotency-Key': 'k'.repeat(256) })).status).toBe(400);
    expect((await postJson(frame, things, { name: 'n' }, { 'Idempotency-Key': '' })).status).toBe(400);
  });

  test('what was done is answered even when its response could not be kept', async () => {
    const { route } = creating();
    const idempotency = { ...memoryIdempotency(), finish: () => Promise.reject(new Error('the database is away')) };
    const frame = await startFrame([route], { settings: { idempotency } });
    expect((await postJson(frame, things, { name: 'n' }, key)).status).toBe(202);
  });
});
