import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createOrganization } from '../../src/access/organizations.ts';
import { newId } from '../../src/platform/ids.ts';
import { type Database, openPostgres } from '../../src/platform/postgres.ts';
import type { Account } from '../../src/usage/account.ts';
import { type Meter, openMeter } from '../../src/usage/meter.ts';
import { keepLogs } from '../support/logs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { openPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';

let db: TestDatabase;
let proxy: PostgresProxy;
/** Connection through the proxy. */
let sql: Database;
let logs: ReturnType<typeof keepLogs>;
let meter: Meter;
let account: Required<Pick<Account, 'orgId' | 'plan'>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});
beforeEach(async () => {
  proxy = await openPostgresProxy(db.connection);
  sql = openPostgres(proxy.connection, { poolMax: 3, applicationName: 'test' });
  logs = keepLogs();
  meter = makeMeter();
  const { id } = await createOrganization(db.sql, 'operator:test', { name: newId('name'), plan: 'enterprise' });
  account = { orgId: id, plan: 'enterprise' };
});
afterEach(async () => {
  await proxy.open();
  await sql.end({ timeout: 1 });
  await proxy.close();
});

function makeMeter(options: { keysMax?: number } = {}): Meter {
  const plans = { starter: { quotas: { embed: 10 }, requestsPerMinute: {} } };
  return openMeter({ sql, plans, logger: logs.logger, ...options });
}

async function use(texts: number, who: Account = account): Promise<void> {
  const reservation = await meter.reserve(who, 'embed', texts);
  reservation.settle([{ model: 'm', texts, tokens: texts }]);
}

async function recorded(orgId = account.orgId): Promise<{ texts: number; used: number }> {
  const [row] = await db.sql<{ texts: number; used: number }[]>`
    SELECT (SELECT coalesce(sum(texts), 0)::bigint FROM usage_ledger WHERE org_id = ${orgId}) AS texts,
           (SELECT coalesce(sum(used), 0)::bigint FROM usage_counters WHERE org_id = ${orgId}) AS used`;
  return row as { texts: number; used: number };
}

test('usage counts once if the answer is lost after the commit', async () => {
  for (let round = 1; round <= 5; round++) {
    await use(10);
    proxy.loseNextCommit();
    await expect(meter.flush()).rejects.toThrow();
    await until(async () => (await recorded()).texts === 10 * round); // the commit had succeeded
    await meter.flush();
    expect(await recorded()).toEqual({ texts: 10 * round, used: 10 * round });
  }
});

test('usage is kept while the database is down, with one warning, and written once when it is up again', async () => {
  await meter.flush();
  await proxy.cut();
  for (let n = 1; n <= 4; n++) {
    await use(n);
    await expect(meter.flush()).rejects.toThrow();
  }
  await use(5);
  await proxy.open();
  await until(async () =>
    meter.flush().then(
      () => true,
      () => false,
    ),
  );
  expect(await recorded()).toEqual({ texts: 15, used: 15 });
  expect(logs.messages()).toEqual([
    'usage could not be written; it is kept and will be written again later',
    'usage is being written again',
  ]);
});

test('units that are released while the database is down are returned when it is up again', async () => {
  const starter: Account = { ...account, plan: 'starter' };
  const reservation = await meter.reserve(starter, 'embed', 10);
  await proxy.cut();
  await reservation.release();
  expect(await recorded()).toEqual({ texts: 0, used: 10 });
  await proxy.open();
  await until(async () =>
    meter.flush().then(
      () => true,
      () => false,
    ),
  );
  expect(await recorded()).toEqual({ texts: 0, used: 0 });
});

test('usage that is booked during a flush is written by the next flush, which concurrent calls share', async () => {
  await use(1);
  const flushes = [meter.flush()];
  await use(2);
  flushes.push(meter.flush(), meter.flush());
  await use(3);
  expect(flushes[1]).toBe(flushes[2]);
  await Promise.all(flushes);
  expect(await recorded()).toEqual({ texts: 6, used: 6 });
});

test('several processes write equal keys concurrently without a deadlock', async () => {
  const meters = [meter, makeMeter(), makeMeter()];
  const days = [0, 1, 2, 3].map((n) => ({ model: `m${n}`, texts: 1, tokens: 1 }));
  for (let round = 0; round < 10; round++) {
    for (const [index, each] of meters.entries()) {
      const used = index % 2 === 0 ? days : days.toReversed();
      (await each.reserve(account, 'embed', 4)).settle(used);
    }
    await Promise.all(meters.map((each) => each.flush()));
  }
  expect(await recorded()).toEqual({ texts: 120, used: 120 });
});

test('usage of an organization that was deleted in the meantime does not block other usage', async () => {
  const other = await createOrganization(db.sql, 'operator:test', { name: newId('name'), plan: 'enterprise' });
  await use(1, { orgId: other.id, plan: 'enterprise' });
  await use(2);
  await db.sql`DELETE FROM organizations WHERE id = ${other.id}`;
  await meter.flush();
  expect(await recorded()).toEqual({ texts: 2, used: 2 });
  expect(await recorded(other.id)).toEqual({ texts: 0, used: 0 });
});

test('requests are refused while no more sums can be held, so that none is served unmetered', async () => {
  meter = makeMeter({ keysMax: 4 });
  await proxy.cut();
  await use(1);
  await expect(meter.flush()).rejects.toThrow();
  await use(1); // two sums wait for the database, two more for the next flush
  await expect(use(1)).rejects.toMatchObject({ code: 'postgres_unavailable', status: 503 });
  await proxy.open();
  await until(async () =>
    meter.flush().then(
      () => true,
      () => false,
    ),
  );
  await use(1);
  await meter.flush();
  expect(await recorded()).toEqual({ texts: 3, used: 3 });
});

test('the service flushes periodically, and once more when it stops', async () => {
  await meter.service.start(new AbortController().signal);
  await use(1);
  await until(async () => (await recorded()).texts === 1);
  await use(2);
  await meter.service.stop();
  expect(await recorded()).toEqual({ texts: 3, used: 3 });
  expect(logs.lines).toEqual([]);
});

test('a stop without a database logs the lost usage', async () => {
  await meter.service.start(new AbortController().signal);
  await proxy.cut();
  await use(7);
  await meter.service.stop();
  expect(logs.lines.at(-1)).toMatchObject({
    level: 50,
    unwritten: { requests: 1, texts: 7, tokens: 7, images: 0 },
  });
});

test('a killed process has written all usage but that of its last moments, and nothing twice', async () => {
  const child = spawn(
    process.execPath,
    [new URL('../support/usage-child.ts', import.meta.url).pathname, db.url, account.orgId],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output = (output + text).slice(-1000);
  });
  const closed = once(child, 'close');
  let writes = 0;
  let before = 0;
  await until(async () => {
    const { texts } = await recorded();
    if (texts > before) writes++;
    before = texts;
    return writes >= 3;
  });
  child.kill('SIGKILL');
  await closed;
  const settled = Number(output.trim().split('\n').at(-1));
  const { texts, used } = await recorded();
  expect(texts).toBe(used);
  expect(texts).toBeGreaterThanOrEqual(before);
  expect(texts).toBeLessThanOrEqual(settled + 1);
});
