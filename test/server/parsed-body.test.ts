import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../server/route.ts';
import { postJson, startFrame } from './support.ts';

/** A route that parses by itself and takes the bytes away, as one does that hands them to a thread. */
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

it('a route that parses by itself replays the same bytes, and refuses others under the same key', async () => {
  const frame = await startFrame([parsing(true)]);
  const headers = { 'Idempotency-Key': 'k' };
  const first = await postJson(frame, '/v1/parsed', '{"text":"a"}', headers);
  const again = await postJson(frame, '/v1/parsed', '{"text":"a"}', headers);
  expect(await first.json()).toEqual({ text: 'a', run: 1 });
  expect(await again.json()).toEqual({ text: 'a', run: 1 });
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect((await postJson(frame, '/v1/parsed', '{"text":"b"}', headers)).status).toBe(422);
  expect(await (await postJson(frame, '/v1/parsed', '{"text":"a"}')).json()).toEqual({ text: 'a', run: 2 });
});

it('a key on a route that is not idempotent means nothing', async () => {
  const frame = await startFrame([parsing(false)]);
  const headers = { 'Idempotency-Key': 'k' };
  await postJson(frame, '/v1/parsed', '{"text":"a"}', headers);
  expect(await (await postJson(frame, '/v1/parsed', '{"text":"a"}', headers)).json()).toEqual({ text: 'a', run: 2 });
});

it('only a route that reads JSON can parse by itself', async () => {
  const route = { ...parsing(false), reads: 'upload' } as const;
  await expect(startFrame([route])).rejects.toThrow('only a route that reads JSON');
});
