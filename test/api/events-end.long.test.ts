import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { revokeKey } from '../../src/access/keys.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type OpenStream, openEvents } from '../support/event-stream.ts';
import { signIn } from '../support/sessions.ts';
import { until } from '../support/until.ts';

let test: TestApi;
const open: OpenStream[] = [];
beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});
afterAll(() => test.close());

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });
const idOf = (key: string) => key.split('_')[1] as string;

async function follow(headers: Record<string, string>): Promise<OpenStream> {
  const stream = await openEvents(test, headers);
  open.push(stream);
  return stream;
}

it('a stream ends when its session or its key ends, and the next one is refused', async () => {
  const credential = await test.key();
  const session = await signIn(test, { credential });
  const byCookie = await follow({ Cookie: session.cookie });
  const other = await test.key();
  const byKey = await follow(bearer(other));
  expect([byCookie.status, byKey.status]).toEqual([200, 200]);
  await test.call('DELETE', '/v1/sessions/current', { headers: session.headers });
  await revokeKey(test.appliance.sql, test.operator, idOf(other));
  await until(async () => byCookie.hasEnded() && byKey.hasEnded(), {
    what: 'the end of the streams',
    withinMs: 60_000,
  });
  expect((await follow({ Cookie: session.cookie })).status).toBe(401);
  expect((await follow(bearer(other))).status).toBe(401);
});

it('a stream does not keep its session alive', async () => {
  const credential = await test.key();
  const session = await signIn(test, { credential });
  const stream = await follow({ Cookie: session.cookie });
  const { sql } = test.appliance;
  const actor = `key:${idOf(credential)}`;
  await sql`UPDATE sessions SET last_used_at = now() - interval '61 minutes' WHERE actor = ${actor}`;
  await until(async () => stream.hasEnded(), { what: 'the end of the stream', withinMs: 60_000 });
});

it('a server that stops ends its streams at once', async () => {
  const own = await openTestApi({ worker: false });
  const stream = await openEvents(own, bearer(await own.key()));
  await own.close();
  await until(async () => stream.hasEnded(), { what: 'the end of the stream', withinMs: 60_000 });
});
