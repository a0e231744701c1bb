import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineRoute, type Route } from '../../server/route.ts';
import { storedIdempotency } from '../../server/stored-idempotency.ts';
import { AppError } from '../../src/platform/errors.ts';
import { type Database, inTransaction, openPostgres } from '../../src/platform/postgres.ts';
import { makeKeyRing } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { openPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { postJson, startTestServer } from './support.ts';

const LOCK_MS = 2_000;
const keyRing = makeKeyRing();

let database: Awaited<ReturnType<typeof createTestDatabase>>;
let proxy: PostgresProxy;
/** Pool of the handlers, whose connections can be lost. */
let lossy: Database;
beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_test', 'of the test server', 'free')`;
  await database.sql`CREATE TABLE things (name text)`;
  proxy = await openPostgresProxy(database.connection);
  lossy = openPostgres(proxy.connection, { poolMax: 2, applicationName: 'lossy' });
});
afterAll(async () => {
  await lossy?.end({ timeout: 0 });
  await proxy?.close();
  await database?.drop();
});

function creating(handle: (name: string) => Promise<void>): Route {
  return defineRoute({
    ...{ method: 'POST', path: '/v1/things', operationId: 'create', summary: 'Creates', access: 'caller' },
    ...{ errors: 'detail', reads: 'json', idempotent: true, responses: {} },
    body: z.object({ name: z.string() }),
    async handle({ body }) {
      await handle(body.name);
      return { status: 201, body };
    },
  });
}

const insert = (name: string) =>
  inTransaction(lossy, async (tx) => void (await tx`INSERT INTO things VALUES (${name})`));
const count = async (name: string) => (await database.sql`SELECT 1 FROM things WHERE name = ${name}`).length;

async function serve(handle: (name: string) => Promise<void>, lockMs = LOCK_MS) {
  const idempotency = storedIdempotency(database.sql, keyRing, lockMs);
  const server = await startTestServer([creating(handle)], { settings: { idempotency } });
  return (name: string) => postJson(server, '/v1/things', { name }, { 'Idempotency-Key': name });
}

test('a request whose COMMIT was done, but not confirmed, keeps its key, so that a retry does not repeat it', async () => {
  const post = await serve(insert, 60_000);
  proxy.loseNextCommit();
  expect((await post('unconfirmed')).status).toBe(503);
  const again = await post('unconfirmed');
  expect([again.status, again.headers.get('retry-after')]).toEqual([409, '1']);
  expect(await count('unconfirmed')).toBe(1);
});

test('the key of an unconfirmed request is free once its lock ends', async () => {
  let isFirst = true;
  const post = await serve(async () => {
    if (!isFirst) return;
    isFirst = false;
    proxy.loseNextCommit();
    await insert('given up');
  });
  expect((await post('given up')).status).toBe(503);
  expect((await post('given up')).status).toBe(409);
  await delay(LOCK_MS + 100);
  expect((await post('given up')).status).toBe(201);
});

test.each([
  ['provider_unavailable', 502],
  ['postgres_contention', 503],
  ['nope', 404],
])('a request that failed with %s frees its key at once', async (code, status) => {
  let isFirst = true;
  const post = await serve(async () => {
    if (!isFirst) return;
    isFirst = false;
    throw new AppError({ code, status, message: 'it failed', retryable: true });
  });
  expect((await post(code)).status).toBe(status);
  expect((await post(code)).status).toBe(201);
});

test('a request that takes longer than the lock keeps its key', async () => {
  const gate = Promise.withResolvers<void>();
  const post = await serve(async (name) => {
    await gate.promise;
    await insert(name);
  });
  const first = post('long');
  await delay(1.5 * LOCK_MS);
  expect((await post('long')).status).toBe(409);
  gate.resolve();
  expect((await first).status).toBe(201);
  expect((await post('long')).headers.get('idempotency-replayed')).toBe('true');
  expect(await count('long')).toBe(1);
});
