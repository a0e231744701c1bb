import { Registry } from 'prom-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { openSearchLog } from '../../src/insight/log/search-log.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import type { Searched } from '../../src/search/search-recorder.ts';
import { makeKeyRing, makeOrg } from '../support/access.ts';
import { keepLogs } from '../support/logs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let db: TestDatabase;
let operator: Caller;
beforeAll(async () => {
  db = await createTestDatabase();
  operator = (await makeOrg(db.sql, makeKeyRing())).operator;
});
afterAll(() => db.drop());

const searched = (): Searched => ({
  ...{ query: `${'서비스 '.repeat(2_000)}\u0000 end`, mode: 'hybrid', bucketIds: ['bkt_1'] },
  ...{ results: 1, relevance: 'high', beganMs: performance.now() },
});
const settings = { level: 'queries', levelMax: 'queries', keptMs: 86_400_000 } as const;

it('a search log without its database holds a bounded number of searches, and counts the dropped ones', async () => {
  const registry = new Registry();
  const sql = openPostgres(db.connection, { poolMax: 1, applicationName: 'test' });
  const log = await openSearchLog({ sql, logger: keepLogs().logger, registry, settings, keepsMessengers: false });
  await sql.end();
  for (let n = 0; n < 5_010; n++) log.record(operator, searched());
  await expect(log.flush()).rejects.toThrow();
  log.record(operator, searched());
  expect(await registry.metrics()).toContain('service_search_log_dropped_total 11');
  await log.close();
});

it('a long query is cut, and questions of a messenger are left out', async () => {
  const { sql } = db;
  const log = await openSearchLog({
    ...{ sql, logger: keepLogs().logger, registry: new Registry(), settings, keepsMessengers: false },
  });
  expect(log.record({ ...operator, kind: 'channel' }, searched())).toBeNull();
  const id = log.record(operator, { ...searched(), askedBy: 'assistant' });
  await log.close();
  const rows = await sql`SELECT id, query, asked_by FROM search_log`;
  expect(rows).toEqual([{ id, query: '서비스 '.repeat(125).trimEnd(), asked_by: 'assistant' }]);
});
