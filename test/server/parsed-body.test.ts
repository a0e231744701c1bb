import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../server/route.ts';
import { postJson, startTestServer } from './support.ts';

/** Make a route that parses by itself and overwrites the bytes, like a route that transfers them to a thread. */
function parsing(idempotent: boolean) {
  let runs = 0;
  return defineRoute({
    method: 'POST',
    path: '/v1/parsed',
    operationId: 'parsed',
    summary: 'Parses by itself',
    access: 'embed',
    errors: 'detail',
    reads: 'json',
    idempotent,
    body: z.object({ text: z.string() }),
    async parse(bytes) {
      const body = JSON.parse(bytes.toString()) as { text: string };
      bytes.fill(0);
      return body;
    },
    responses: {},
    handle: async ({ body }) => ({ body: { text: body.text, run: ++runs } }),
  });
}

it('a route with its own parser replays equal bytes, and refuses others with the same key', async () => {
  const server = await startTestServer([parsing(true)]);
  const headers = { 'Idempotency-Key': 'k' };
  const first = await postJson(server, '/v1/parsed', '{"text":"a"}', headers);
  const again = await postJson(server, '/v1/parsed', '{"text":"a"}', headers);
  expect(await first.json()).toEqual({ text: 'a', run: 1 });
  expect(await again.json()).toEqual({ text: 'a', run: 1 });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await postJson(server, '/v1/parsed', '{"text":"b"}', headers)).status).toBe(422);
  expect(await (await postJson(server, '/v1/parsed', '{"text":"a"}')).json()).toEqual({ text: 'a', run: 2 });
});

it('an Idempotency-Key on a route that is not idempotent is ignored', async () => {
  const server = await startTestServer([parsing(false)]);
  const headers = { 'Idempotency-Key': 'k' };
  await postJson(server, '/v1/parsed', '{"text":"a"}', headers);
  expect(await (await postJson(server, '/v1/parsed', '{"text":"a"}', headers)).json()).toEqual({ text: 'a', run: 2 });
});

it('only a route that reads a body can have its own parser', async () => {
  const { body: _, ...declared } = parsing(false);
  const route = { ...declared, reads: 'none' } as const;
  await expect(startTestServer([route])).rejects.toThrow('only a route that reads a body');
});
