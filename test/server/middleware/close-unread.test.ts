import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../server/route.ts';
import type { Caller } from '../../../src/access/caller.ts';
import { RefusalBrake } from '../../../src/platform/refusal-brake.ts';
import { until } from '../../support/until.ts';
import { postJson, startTestServer } from '../support.ts';

const echo = defineRoute({
  method: 'POST',
  path: '/echo',
  operationId: 'echo',
  summary: 'x',
  access: 'embed',
  errors: 'detail',
  reads: 'json',
  bodyLimitBytes: 1000,
  body: z.object({ text: z.string() }),
  responses: {},
  handle: async () => ({ body: {} }),
});

/** Resolve `Bearer <organization>`. */
async function resolveCaller(authorization: string | undefined): Promise<Caller> {
  return {
    ...{ kind: 'api_key', actor: 'key:test', plan: 'enterprise', userId: null, role: null, department: null },
    orgId: String(authorization?.split(' ')[1]),
    scopes: new Set(['embed'] as const),
    authLevel: 5,
  };
}

test('an organization that sends many bodies which are refused unread gets further refusals late, and nothing else', async () => {
  const unreadBodies = new RefusalBrake({ burst: 2, perSecond: 1e-6, waitMs: 3_600_000 });
  const server = await startTestServer([echo], { settings: { unreadBodies, resolveCaller } });
  const large = JSON.stringify({ text: 'x'.repeat(4_000_000) });
  const post = async (org: string, body: string) =>
    (await postJson(server, '/echo', body, { Authorization: `Bearer ${org}` })).status;
  expect([await post('one', large), await post('one', large)]).toEqual([413, 413]);
  const gone = new AbortController();
  let isAnswered = false;
  const late = fetch(`${server.url}/echo`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: 'Bearer one' },
    body: large,
    signal: gone.signal,
  }).then(
    () => {
      isAnswered = true;
    },
    () => undefined,
  );
  const inFlight = async () => (await server.metrics.httpInFlight.get()).values[0]?.value;
  await until(async () => (await inFlight()) === 1);
  expect(await post('other', large)).toBe(413);
  expect(await post('one', '{"text":"x"}')).toBe(200);
  // This body has arrived when it is refused, so that nothing of it was sent in vain.
  expect(await post('one', '{"text":1}')).toBe(400);
  expect(isAnswered).toBe(false);
  gone.abort();
  await late;
});
