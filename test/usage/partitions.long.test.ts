import { afterEach, beforeEach, expect, test } from 'vitest';
import { createOrganization } from '../../src/access/organizations.ts';
import { MIGRATIONS } from '../../src/appliance/stores.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { keepPartitions } from '../../src/usage/partition-store.ts';
import { writeUsage } from '../../src/usage/store.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

/** Newest migration before that of the partitions. */
const BEFORE = 64;
const DAY_MS = 86_400_000;
const ROWS = 50_000;

let db: TestDatabase;
beforeEach(async () => {
  db = await createTestDatabase({ isEmpty: true, poolMax: 8 });
});
afterEach(() => db.drop());

const NO_USAGE = { requests: 1, requestsLed: 1, tokens: 1, images: 0, outputTokens: 0 };

/** Book texts of one organization, as the ledger of a process does. */
const book = (ledgerId: string, sequence: number, days: readonly string[], orgId = 'org_a') =>
  writeUsage(db.sql, {
    ledgerId,
    sequence,
    rows: days.map((day) => ({ orgId, day, axis: 'embed', model: 'm', internal: false, texts: 1, ...NO_USAGE })),
    counters: [],
    actors: days.map((day) => ({ orgId, day, actor: 'key:a', requests: 1, tokens: 1 })),
  });

async function addOrganization(): Promise<void> {
  await db.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'a', 'free')`;
}

const sums = async () => {
  const [row] = await db.sql<{ texts: number; requests: number }[]>`
    SELECT (SELECT coalesce(sum(texts), 0)::bigint FROM usage_ledger) AS texts,
           (SELECT coalesce(sum(requests), 0)::bigint FROM usage_by_actor) AS requests`;
  return row;
};
const partitions = async (table = 'usage_ledger') =>
  (await db.sql<{ name: string }[]>`SELECT name FROM month_partitions(${table}) ORDER BY name`).map(({ name }) => name);
const toDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);

test('the migration of tables with rows loses and doubles nothing that processes write meanwhile', async () => {
  await migrate(db.sql, { directory: MIGRATIONS, upTo: BEFORE });
  await addOrganization();
  await db.sql`
    INSERT INTO usage_ledger (org_id, day, axis, model, internal, requests, requests_led, texts, tokens, images)
    SELECT 'org_a', current_date - n % 900, 'embed', 'model-' || n, false, 1, 1, 1, 1, 0
    FROM generate_series(1, ${ROWS}) n`;
  let written = 0;
  let slowestMs = 0;
  let isMigrated = false;
  const write = async (name: string) => {
    for (let sequence = 1, left = 50; left > 0; sequence++) {
      const beganMs = performance.now();
      await book(name, sequence, [toDay(Date.now()), toDay(Date.now() - DAY_MS)]);
      slowestMs = Math.max(slowestMs, performance.now() - beganMs);
      written += 2;
      if (isMigrated) left--;
    }
  };
  const writers = ['one', 'two', 'three'].map(write);
  await until(async () => written > 100);
  await migrate(db.sql, { directory: MIGRATIONS });
  isMigrated = true;
  await Promise.all(writers);
  expect(await sums()).toEqual({ texts: ROWS + written, requests: written });
  expect(slowestMs).toBeLessThan(3_000);
  expect(await partitions()).toEqual(['usage_ledger_before', 'usage_ledger_rest']);
});

test('partitions are made ahead, and rows of months without one find a place and move there', async () => {
  await migrate(db.sql, { directory: MIGRATIONS });
  await addOrganization();
  const [bound] = await db.sql<{ until: Date }[]>`SELECT first_month_of('usage_ledger')::timestamptz AS until`;
  const firstMs = (bound?.until ?? new Date(Number.NaN)).getTime();
  const later = [20, 70].map((days) => toDay(firstMs + days * DAY_MS));
  await book('p', 1, [toDay(Date.now()), ...later]);
  expect(await db.sql`SELECT count(*) AS n FROM usage_ledger_rest`).toEqual([{ n: 2 }]);
  await keepPartitions(db.sql, null, firstMs);
  expect(await db.sql`SELECT count(*) AS n FROM usage_ledger_rest`).toEqual([{ n: 0 }]);
  const monthly = [0, 31, 62].map(
    (days) =>
      `usage_ledger_${toDay(firstMs + days * DAY_MS)
        .slice(0, 7)
        .replace('-', '_')}`,
  );
  expect(await partitions()).toEqual([...new Set(monthly), 'usage_ledger_before', 'usage_ledger_rest'].sort());
  await book('p', 2, later);
  expect(await sums()).toEqual({ texts: 5, requests: 5 });
  // Nothing changes the second time, and another process may do it at the same time.
  await Promise.all([keepPartitions(db.sql, null, firstMs), keepPartitions(db.sql, null, firstMs)]);
  expect(await sums()).toEqual({ texts: 5, requests: 5 });
});

test('retention drops partitions of months that are over, and keeps the others', async () => {
  await migrate(db.sql, { directory: MIGRATIONS });
  await addOrganization();
  const nowMs = Date.now();
  await book('p', 1, [toDay(nowMs), toDay(nowMs - 400 * DAY_MS)]);
  await keepPartitions(db.sql, null, nowMs);
  await keepPartitions(db.sql, 31 * DAY_MS, nowMs);
  expect(await sums()).toEqual({ texts: 2, requests: 2 });
  const afterMs = nowMs + 130 * DAY_MS;
  await book('p', 2, [toDay(afterMs)]);
  await keepPartitions(db.sql, 31 * DAY_MS, afterMs);
  expect(await sums()).toEqual({ texts: 1, requests: 1 });
  expect(await partitions('usage_by_actor')).not.toContain('usage_by_actor_before');
  // Late usage of a dropped month is kept until the next removal.
  await book('p', 3, [toDay(nowMs)]);
  expect(await sums()).toEqual({ texts: 2, requests: 2 });
  await keepPartitions(db.sql, 31 * DAY_MS, afterMs);
  expect(await sums()).toEqual({ texts: 1, requests: 1 });
});

test('an organization that is deleted takes its usage out of all partitions', async () => {
  await migrate(db.sql, { directory: MIGRATIONS });
  const { id } = await createOrganization(db.sql, 'operator:test', { name: 'b', plan: 'free' });
  const farMs = Date.now() + 100 * DAY_MS;
  await book('p', 1, [toDay(Date.now()), toDay(farMs)], id);
  await keepPartitions(db.sql, null, farMs);
  await db.sql`DELETE FROM organizations WHERE id = ${id}`;
  expect(await sums()).toEqual({ texts: 0, requests: 0 });
});
