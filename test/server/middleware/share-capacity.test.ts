import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute } from '../../../server/route.ts';
import type { Caller } from '../../../src/access/caller.ts';
import { FairGate } from '../../../src/platform/fair-gate.ts';
import { leavePlaceFor } from '../../../src/platform/work-context.ts';
import { until } from '../../support/until.ts';
import { enoughCapacity, startTestServer } from '../support.ts';

const caller = (orgId: string): Caller => ({
  ...{ kind: 'api_key', actor: 'key:test', orgId, plan: 'enterprise', userId: null, role: null, department: null },
  scopes: new Set(['search'] as const),
  authLevel: 5,
});

/** Start a server whose searches end by hand, with two places for organizations that search at the same time. */
async function startServer() {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const answers: (() => void)[] = [];
  const waitFor = (list: (() => void)[]) => new Promise<void>((resolve) => list.push(resolve));
  const route = defineRoute({
    method: 'GET',
    path: '/search/:kind',
    operationId: 'search',
    summary: 'x',
    access: 'search',
    errors: 'detail',
    reads: 'none',
    capacity: 'search',
    params: z.object({ kind: z.enum(['asks', 'works']) }),
    responses: { 200: { description: 'x', schema: z.object({}) } },
    async handle({ caller: { orgId }, params: { kind } }) {
      begun.push(`${orgId} ${kind}`);
      if (kind === 'asks') await leavePlaceFor(() => waitFor(answers));
      else await waitFor(ends);
      return { body: {} };
    },
  });
  const shared = { places: 2, activeMs: 60_000 };
  const search = new FairGate({ runningMax: 10, runningOfOneMax: 10, waitingOfOneMax: 10, shared });
  const server = await startTestServer([route], {
    settings: {
      capacity: { ...enoughCapacity(), search },
      resolveCaller: async (authorization) => caller(String(authorization)),
    },
  });
  const send = async (orgId: string, kind: string, signal?: AbortSignal) => {
    const reply = await fetch(`${server.url}/search/${kind}`, {
      headers: { Authorization: orgId },
      ...(signal ? { signal } : {}),
    });
    return reply.status;
  };
  const inFlight = async () => (await server.metrics.httpInFlight.get()).values[0]?.value;
  return { begun, ends, answers, send, inFlight };
}

test('a search that waits for a vendor leaves its place to another search of its organization', async () => {
  const { begun, ends, answers, send } = await startServer();
  const replies = [send('other', 'works')];
  await until(async () => begun.length === 1);
  replies.push(send('one', 'asks'));
  await until(async () => answers.length === 1);
  replies.push(send('one', 'works'));
  await until(async () => begun.length === 3);
  expect(begun).toEqual(['other works', 'one asks', 'one works']);
  for (const end of [...answers, ...ends]) end();
  expect(await Promise.all(replies)).toEqual([200, 200, 200]);
});

test('a search that waits behind others of its organization is dropped when its client is gone', async () => {
  const { begun, ends, send, inFlight } = await startServer();
  const replies = [send('other', 'works')];
  await until(async () => begun.length === 1);
  replies.push(send('one', 'works'));
  await until(async () => begun.length === 2);
  const gone = new AbortController();
  const dropped = send('one', 'asks', gone.signal).catch(() => 'gone');
  await until(async () => (await inFlight()) === 3);
  gone.abort();
  expect(await dropped).toBe('gone');
  await until(async () => (await inFlight()) === 2);
  const last = send('one', 'works');
  await until(async () => (await inFlight()) === 3);
  for (const end of ends) end();
  await until(async () => begun.length >= 3);
  ends.at(-1)?.();
  expect(await Promise.all([...replies, last])).toEqual([200, 200, 200]);
  expect(begun).toEqual(['other works', 'one works', 'one works']);
});
