import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  abandonIdempotent,
  beginIdempotent,
  extendIdempotent,
  fingerprintRequest,
  finishIdempotent,
  type IdempotencyLock,
  sweepIdempotencyKeys,
} from '../../src/access/idempotency.ts';
import { makeKeyRing, makeOrg } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';

let db: Awaited<ReturnType<typeof createTestDatabase>>;
let orgId: string;
let otherOrgId: string;
beforeAll(async () => {
  db = await createTestDatabase();
  orgId = (await makeOrg(db.sql, makeKeyRing())).org.id;
  otherOrgId = (await makeOrg(db.sql, makeKeyRing())).org.id;
});
afterAll(async () => {
  await db.drop();
});

const LOCK_MS = 60_000;
const encryptionKey = makeKeyRing().encryption;
const fingerprint = fingerprintRequest('uploadDocument', 'bkt_1', '{"text":"a"}');
const otherFingerprint = fingerprintRequest('uploadDocument', 'bkt_1', '{"text":"b"}');

function begin(
  key: string,
  options: { fingerprint?: Buffer; lockMs?: number; orgId?: string; encryptionKey?: Buffer } = {},
) {
  return beginIdempotent(db.sql, { orgId, key, fingerprint, lockMs: LOCK_MS, encryptionKey, ...options });
}

async function beginNew(key: string, options: Parameters<typeof begin>[1] = {}): Promise<IdempotencyLock> {
  const start = await begin(key, options);
  if (start.state !== 'new') throw new Error(`expected a new request, got ${start.state}`);
  return start.lock;
}

test('a repeated request gets the first response', async () => {
  const lock = await beginNew('again');
  const body = { id: 'doc_1', aa: 1, a: null, text: 'nul \u0000, half \ud800, ü', nested: { zz: [1, { y: 2 }] } };
  await finishIdempotent(db.sql, lock, { status: 202, body });
  const replay = await begin('again');
  expect(replay).toEqual({ state: 'replay', status: 202, body });
  expect(replay.state === 'replay' && JSON.stringify(replay.body)).toBe(JSON.stringify(body)); // keys in order
});

test('a response with a secret is stored encrypted, and only the same key reads it', async () => {
  const body = { id: 'key_1', key: 'svc_clear_text' };
  await finishIdempotent(db.sql, await beginNew('secret'), { status: 201, body, encryptionKey });
  const rows =
    await db.sql`SELECT row_to_json(k)::text AS row, sealed_body FROM idempotency_keys k WHERE key = 'secret'`;
  expect(rows[0]?.['row']).not.toContain('key_1');
  expect(Buffer.from(rows[0]?.['sealed_body']).toString('latin1')).not.toContain('svc_clear_text');
  expect(await begin('secret')).toEqual({ state: 'replay', status: 201, body });
  await expect(begin('secret', { encryptionKey: makeKeyRing().encryption })).rejects.toMatchObject({
    code: 'sealed_value_unreadable',
  });
});

test.each([200, 201, 204, 303])('a response with status %d is kept', async (status) => {
  await finishIdempotent(db.sql, await beginNew(`kept-${status}`), { status, body: undefined });
  expect(await begin(`kept-${status}`)).toEqual({ state: 'replay', status, body: null });
});

test.each([400, 402, 409, 429, 500, 503])(
  'a response with status %d frees the key, even for another request',
  async (status) => {
    await finishIdempotent(db.sql, await beginNew(`freed-${status}`), { status, body: {} });
    expect(await begin(`freed-${status}`, { fingerprint: otherFingerprint })).toMatchObject({ state: 'new' });
  },
);

test('an abandoned key is free', async () => {
  await abandonIdempotent(db.sql, await beginNew('abandoned'));
  expect(await begin('abandoned')).toMatchObject({ state: 'new' });
});

test('another request with the key is 422, during and after the first', async () => {
  const lock = await beginNew('reused');
  const reused = { code: 'idempotency_key_reused', status: 422 };
  await expect(begin('reused', { fingerprint: otherFingerprint })).rejects.toMatchObject(reused);
  await finishIdempotent(db.sql, lock, { status: 201, body: {} });
  await expect(begin('reused', { fingerprint: otherFingerprint })).rejects.toMatchObject(reused);
});

test('a repeated request while the first is in progress is 409 with Retry-After', async () => {
  await beginNew('busy');
  await expect(begin('busy')).rejects.toMatchObject({
    code: 'idempotency_in_progress',
    status: 409,
    retryable: true,
    retryAfterSeconds: 1,
  });
});

test('exactly one of a hundred concurrent requests with a key is new', async () => {
  const starts = await Promise.allSettled(Array.from({ length: 100 }, () => begin('race')));
  expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  for (const start of starts) {
    if (start.status === 'rejected') expect(start.reason).toMatchObject({ code: 'idempotency_in_progress' });
  }
});

test('organizations do not share keys', async () => {
  await beginNew('shared');
  expect(await begin('shared', { orgId: otherOrgId, fingerprint: otherFingerprint })).toMatchObject({ state: 'new' });
});

test('a key of a request that died can be claimed again, and a late end of that request changes nothing', async () => {
  const dead = await beginNew('dead', { lockMs: 0 });
  await expect(begin('dead', { fingerprint: otherFingerprint })).rejects.toMatchObject({ status: 422 });
  const taken = await beginNew('dead');
  await finishIdempotent(db.sql, dead, { status: 201, body: { by: 'dead' } });
  await abandonIdempotent(db.sql, dead);
  await expect(begin('dead')).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  await finishIdempotent(db.sql, taken, { status: 201, body: { by: 'taken' } });
  await finishIdempotent(db.sql, dead, { status: 500, body: {} });
  expect(await begin('dead')).toEqual({ state: 'replay', status: 201, body: { by: 'taken' } });
});

test('an extended lock is held on, and a dead request extends none that another one has', async () => {
  const lock = await beginNew('long', { lockMs: 0 });
  expect(await extendIdempotent(db.sql, lock, LOCK_MS)).toBe(true);
  await expect(begin('long')).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  expect(await extendIdempotent(db.sql, lock, 0)).toBe(true);
  const taken = await beginNew('long', { lockMs: 0 });
  expect(await extendIdempotent(db.sql, lock, LOCK_MS)).toBe(false);
  await finishIdempotent(db.sql, taken, { status: 201, body: { by: 'taken' } });
  expect(await extendIdempotent(db.sql, taken, LOCK_MS)).toBe(false);
  expect(await begin('long')).toEqual({ state: 'replay', status: 201, body: { by: 'taken' } });
});

test('the end of a request is part of the transaction that is passed to it', async () => {
  const lock = await beginNew('rolled-back');
  await expect(
    db.sql.begin(async (tx) => {
      await finishIdempotent(tx, lock, { status: 201, body: {} });
      throw new Error('rolled back');
    }),
  ).rejects.toThrow('rolled back');
  await expect(begin('rolled-back')).rejects.toMatchObject({ code: 'idempotency_in_progress' });
});

test('a key is free after 24 h and is then removed by the sweep', async () => {
  while ((await sweepIdempotencyKeys(db.sql)) > 0);
  for (const key of ['old-1', 'old-2', 'old-3']) {
    await finishIdempotent(db.sql, await beginNew(key), { status: 201, body: {} });
  }
  const kept = await db.sql`
    SELECT expires_at - now() > interval '23:59' AND expires_at - now() <= interval '24:00' AS a_day
    FROM idempotency_keys WHERE org_id = ${orgId} AND key = 'old-1'`;
  expect(kept).toMatchObject([{ a_day: true }]);
  await db.sql`UPDATE idempotency_keys SET expires_at = now() WHERE org_id = ${orgId} AND key LIKE 'old-%'`;
  expect(await begin('old-1', { fingerprint: otherFingerprint })).toMatchObject({ state: 'new' });
  expect(await sweepIdempotencyKeys(db.sql, 1)).toBe(1);
  expect(await sweepIdempotencyKeys(db.sql)).toBe(1);
  expect(await sweepIdempotencyKeys(db.sql)).toBe(0);
  await expect(begin('old-1')).rejects.toMatchObject({ status: 422 }); // the new request is still there
});

test('idempotency keys have 1 to 255 characters', async () => {
  expect(await begin('k'.repeat(255))).toMatchObject({ state: 'new' });
  for (const key of ['', 'k'.repeat(256), 'a\0b']) {
    await expect(begin(key)).rejects.toMatchObject({ code: 'idempotency_key_invalid', status: 400 });
  }
});

test('fingerprints depend on the parts and their boundaries', () => {
  const prints = [['ab', 'c'], ['a', 'bc'], ['abc'], ['abc', ''], ['1:a'], ['a', '1:a'], []].map((parts) =>
    fingerprintRequest(...parts).toString('hex'),
  );
  expect(new Set(prints).size).toBe(prints.length);
  expect(fingerprintRequest('é')).toEqual(fingerprintRequest(Buffer.from('é')));
});
