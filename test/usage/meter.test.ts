import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Plan } from '../../src/access/caller.ts';
import { createOrganization, setPlan } from '../../src/access/organizations.ts';
import type { AppError } from '../../src/platform/errors.ts';
import { newId } from '../../src/platform/ids.ts';
import { type Database, openPostgres } from '../../src/platform/postgres.ts';
import type { Account } from '../../src/usage/account.ts';
import { type Meter, openMeter, type Reservation } from '../../src/usage/meter.ts';
import type { PlanSettings } from '../../src/usage/quotas.ts';
import { keepLogs } from '../support/logs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const PLANS: PlanSettings = {
  free: { quotas: { embed: 1000, embed_image: 0 }, requestsPerMinute: {} },
  starter: { quotas: { embed: 10, embed_batch: 10, embed_image: 10 }, requestsPerMinute: {} },
};
const NOON = Date.parse('2026-08-15T12:00:00Z');

let db: TestDatabase;
let meter: Meter;
let now: number;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});
beforeEach(() => {
  now = NOON;
  meter = makeMeter();
});

function makeMeter(options: { sql?: Database; plans?: PlanSettings; keysMax?: number } = {}): Meter {
  const { sql = db.sql, plans = PLANS, ...rest } = options;
  return openMeter({ sql, plans, logger: keepLogs().logger, now: () => now, ...rest });
}

async function makeAccount(plan: Plan): Promise<Required<Pick<Account, 'orgId' | 'plan'>>> {
  const { id } = await createOrganization(db.sql, 'operator:test', { name: newId('name'), plan });
  return { orgId: id, plan };
}

async function usedOf({ orgId }: Account, axis = 'embed', month = '2026-08-01'): Promise<number | null> {
  const [row] = await db.sql<{ used: number }[]>`
    SELECT used FROM usage_counters WHERE org_id = ${orgId} AND axis = ${axis} AND month = ${month}::date`;
  return row?.used ?? null;
}

async function ledgerOf({ orgId }: Account) {
  return [
    ...(await db.sql`
      SELECT to_char(day, 'YYYY-MM-DD') AS day, axis, model, internal, requests, requests_led, texts, tokens, images
      FROM usage_ledger WHERE org_id = ${orgId} ORDER BY day, axis, model, internal`),
  ];
}

/** Reserve an amount and settle all of it on one model. */
async function use(target: Meter, account: Account, amount: number): Promise<void> {
  const reservation = await target.reserve(account, 'embed', amount);
  reservation.settle([{ model: 'm', texts: amount, tokens: amount }]);
}

/** Start requests of these amounts at once, and return the amounts that were granted. */
async function race(amounts: readonly number[], attempt: (amount: number, index: number) => Promise<unknown>) {
  const results = await Promise.allSettled(amounts.map((amount, index) => attempt(amount, index)));
  const refusals = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as AppError] : []));
  expect(refusals.filter(({ code }) => code !== 'quota_exceeded')).toEqual([]);
  return amounts.filter((_, index) => results[index]?.status === 'fulfilled');
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, n) => total + n, 0);

describe('a quota', () => {
  test('200 concurrent clients on a limit of 1,000 texts get exactly 1,000', async () => {
    const account = await makeAccount('free');
    const clients = Array.from({ length: 200 }, () => 1);
    let passed = 0;
    // Each client continues until it is refused.
    await race(clients, async () => {
      for (;;) {
        await use(meter, account, 1);
        passed++;
      }
    });
    expect(passed).toBe(1000);
    await meter.flush();
    expect(await usedOf(account)).toBe(1000);
    expect(await ledgerOf(account)).toMatchObject([{ requests: 1000, texts: 1000 }]);
  });

  test('requests of mixed sizes from two processes never exceed a quota, and the remainder can be used', async () => {
    const account = await makeAccount('free');
    const pools = [1, 2].map(() => openPostgres(db.connection, { poolMax: 3, applicationName: 'test' }));
    try {
      const meters = pools.map((sql) => makeMeter({ sql }));
      const amounts = Array.from({ length: 300 }, (_, index) => (index * 37) % 101);
      const passed = await race(amounts, (amount, index) => use(meters[index % 2] as Meter, account, amount));
      expect(sum(passed)).toBeLessThanOrEqual(1000);
      expect(await usedOf(account)).toBe(sum(passed));
      const left = 1000 - sum(passed);
      await use(meters[0] as Meter, account, left);
      expect(await race([1], (amount) => use(meters[1] as Meter, account, amount))).toEqual([]);
      await Promise.all(meters.map((each) => each.flush()));
      expect(await usedOf(account)).toBe(1000);
      expect(await ledgerOf(account)).toMatchObject([{ texts: 1000 }]);
    } finally {
      await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
    }
  });

  test('processes that reserve at the end of a quota use all of it', async () => {
    const pools = Array.from({ length: 4 }, () => openPostgres(db.connection, { poolMax: 1, applicationName: 'test' }));
    try {
      const meters = pools.map((sql) => makeMeter({ sql }));
      // There are more requests of 1 than the limit, so that they use what the others leave.
      const amounts = Array.from({ length: 28 }, (_, index) => (index < 16 ? 1 + (index % 5) : 1));
      for (let round = 0; round < 25; round++) {
        const account = await makeAccount('starter');
        const passed = await race(amounts, (amount, index) => use(meters[index % 4] as Meter, account, amount));
        expect(sum(passed)).toBe(10);
        expect(await usedOf(account)).toBe(10);
      }
    } finally {
      await Promise.all(pools.map((sql) => sql.end({ timeout: 1 })));
    }
  });

  test('units that failed clients release are used by others, to the last text', async () => {
    const account = await makeAccount('free');
    let failed = 0;
    const amounts = Array.from({ length: 400 }, (_, index) => 1 + (index % 9));
    const attempt = async (amount: number, index: number) => {
      const reservation = await meter.reserve(account, 'embed', amount);
      if (index % 2 === 0) return reservation.settle([{ model: 'm', texts: amount, tokens: 1 }]);
      failed++;
      await reservation.release();
    };
    const passed = await race(amounts, attempt);
    expect(passed.length).toBeGreaterThan(failed);
    await meter.flush();
    const used = (await usedOf(account)) ?? 0;
    expect(await ledgerOf(account)).toMatchObject([{ texts: used }]);
    await use(meter, account, 1000 - used);
    await expect(use(meter, account, 1)).rejects.toMatchObject({ code: 'quota_exceeded' });
  });

  test('a request beyond the remaining units is refused completely, and the error names them and the reset', async () => {
    const account = await makeAccount('starter');
    await use(meter, account, 7);
    await expect(use(meter, account, 4)).rejects.toMatchObject({
      code: 'quota_exceeded',
      status: 402,
      message:
        'the plan "starter" has 10 texts a month on the axis "embed"; ' +
        'this request needs 4 and 3 are left until 2026-09-01T00:00:00.000Z',
      details: { axis: 'embed', limit: 10, remaining: 3, requested: 4, resets_at: '2026-09-01T00:00:00.000Z' },
    });
    await use(meter, account, 3);
    await expect(use(meter, account, 1)).rejects.toMatchObject({ details: { remaining: 0 } });
  });

  test('a first request of a month that exceeds the quota is refused', async () => {
    const account = await makeAccount('starter');
    await expect(use(meter, account, 11)).rejects.toMatchObject({ details: { remaining: 10 } });
    expect(await usedOf(account)).toBe(0);
  });

  test('a limit of 0 means that the plan does not include the axis', async () => {
    const account = await makeAccount('free');
    expect(() => meter.reserve(account, 'embed_image', 1)).toThrow(
      expect.objectContaining({ code: 'axis_not_in_plan', status: 403 }),
    );
    await expect(async () => meter.reserve({ orgId: account.orgId }, 'embed_image', 1)).rejects.toMatchObject({
      code: 'axis_not_in_plan',
    });
  });

  test('axes and organizations are counted separately', async () => {
    const account = await makeAccount('starter');
    const other = await makeAccount('starter');
    for (const axis of ['embed', 'embed_batch', 'embed_image'] as const) {
      await meter.reserve(account, axis, 10);
      await meter.reserve(other, axis, 10);
    }
    await expect(async () => meter.reserve(other, 'embed_batch', 1)).rejects.toMatchObject({ status: 402 });
  });

  test('a quota is renewed each month, and a request counts in the month of its start', async () => {
    const account = await makeAccount('starter');
    now = Date.parse('2026-08-31T23:59:59.999Z');
    const reservation = await meter.reserve(account, 'embed', 10);
    now += 1;
    await use(meter, account, 10);
    reservation.settle([{ model: 'm', texts: 4, tokens: 4 }]);
    await meter.flush();
    expect(await usedOf(account)).toBe(4);
    expect(await usedOf(account, 'embed', '2026-09-01')).toBe(10);
    expect(await ledgerOf(account)).toMatchObject([{ day: '2026-08-31' }, { day: '2026-09-01' }]);
  });
});

describe('a reservation', () => {
  let account: Required<Pick<Account, 'orgId' | 'plan'>>;
  let reservation: Reservation;
  beforeEach(async () => {
    account = await makeAccount('starter');
    reservation = await meter.reserve(account, 'embed', 8);
  });
  const settled = (texts: number) => [{ model: 'm', texts, tokens: texts }];

  test('a reservation counts from its start, in every process', async () => {
    await expect(use(makeMeter(), account, 3)).rejects.toMatchObject({ details: { remaining: 2 } });
  });

  test('released units can be used at once, also by another process, and a second release has no effect', async () => {
    await Promise.all([reservation.release(), reservation.release()]);
    await reservation.release();
    expect(await usedOf(account)).toBe(0);
    await use(makeMeter(), account, 10);
    expect(await ledgerOf(account)).toEqual([]);
  });

  test('settling less releases the remaining units, and later calls of settle and release have no effect', async () => {
    reservation.settle(settled(5));
    reservation.settle(settled(5));
    await reservation.release();
    await meter.flush();
    expect(await usedOf(account)).toBe(5);
    expect(await ledgerOf(account)).toMatchObject([{ requests: 1, texts: 5 }]);
  });

  test('a released reservation cannot be settled', async () => {
    await reservation.release();
    reservation.settle(settled(8));
    await meter.flush();
    expect(await usedOf(account)).toBe(0);
    expect(await ledgerOf(account)).toEqual([]);
  });

  test('a reservation that is settled without usage counts nothing', async () => {
    reservation.settle([]);
    await meter.flush();
    expect(await usedOf(account)).toBe(0);
    expect(await ledgerOf(account)).toEqual([]);
  });

  test.each([-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    'an amount of %d is refused, and the reservation stays open',
    async (amount) => {
      expect(() => reservation.settle([{ model: 'm', texts: 1, tokens: amount }])).toThrow(TypeError);
      expect(() => meter.reserve(account, 'embed', amount)).toThrow(TypeError);
      reservation.settle(settled(8));
      await meter.flush();
      expect(await usedOf(account)).toBe(8);
    },
  );
});

describe('without a limit', () => {
  test('a reservation without a limit is synchronous and does not use the database', async () => {
    const gone = openPostgres({ ...db.connection, port: 1 }, { poolMax: 1, applicationName: 'test' });
    try {
      const offline = makeMeter({ sql: gone });
      const enterprise: Account = { orgId: 'org_1', plan: 'enterprise' };
      expect(offline.reserve(enterprise, 'embed', 5)).not.toBeInstanceOf(Promise);
      // The plan is not looked up either if no plan has a limit on the axis.
      const unlimited = makeMeter({
        sql: gone,
        plans: { free: { quotas: { embed_batch: 1 }, requestsPerMinute: {} } },
      });
      const reservation = unlimited.reserve({ orgId: 'org_1' }, 'embed', 5);
      expect(reservation).not.toBeInstanceOf(Promise);
      await (await reservation).release();
    } finally {
      await gone.end({ timeout: 1 });
    }
  });

  test('usage is counted by organization, day, axis, model and kind, however often it is flushed', async () => {
    const account = await makeAccount('enterprise');
    for (let round = 0; round < 3; round++) {
      await use(meter, account, 2);
      const own = await meter.reserve(account, 'embed', 1, { internal: true });
      own.settle([{ model: 'm', texts: 1, tokens: 7 }]);
      const image = await meter.reserve(account, 'embed_image', 3);
      image.settle([{ model: 'v', texts: 3, tokens: 30, images: 3 }]);
      await meter.flush();
    }
    now += 86_400_000;
    await use(meter, account, 1);
    await meter.flush();
    const m = { day: '2026-08-15', axis: 'embed', model: 'm', images: 0, requests: 3, requests_led: 3 };
    expect(await ledgerOf(account)).toEqual([
      { ...m, internal: false, texts: 6, tokens: 6 },
      { ...m, internal: true, texts: 3, tokens: 21 },
      { ...m, axis: 'embed_image', model: 'v', internal: false, texts: 9, tokens: 90, images: 9 },
      { ...m, day: '2026-08-16', internal: false, texts: 1, tokens: 1, requests: 1, requests_led: 1 },
    ]);
    expect(await usedOf(account)).toBe(10);
    expect(await usedOf(account, 'embed_image')).toBe(9);
  });

  test('a request of several models counts once on the axis, and once for each model', async () => {
    const account = await makeAccount('enterprise');
    const reservation = await meter.reserve(account, 'embed_batch', 6);
    reservation.settle([
      { model: 'ko', texts: 2, tokens: 20 },
      { model: 'en', texts: 3, tokens: 30 },
      { model: 'ko', texts: 1, tokens: 10 },
    ]);
    await meter.flush();
    expect(await ledgerOf(account)).toMatchObject([
      { model: 'en', requests: 1, requests_led: 0, texts: 3, tokens: 30 },
      { model: 'ko', requests: 1, requests_led: 1, texts: 3, tokens: 30 },
    ]);
    expect(await usedOf(account, 'embed_batch')).toBe(6);
  });

  test('usage counts across changes of the plan, with and without a limit', async () => {
    const account = await makeAccount('enterprise');
    await use(meter, account, 7);
    await meter.flush();
    const limited: Account = { orgId: account.orgId, plan: 'starter' };
    await expect(use(meter, limited, 4)).rejects.toMatchObject({ details: { remaining: 3 } });
    await use(meter, limited, 2);
    await use(meter, account, 20);
    await meter.flush();
    expect(await usedOf(account)).toBe(29);
    await expect(use(meter, limited, 1)).rejects.toMatchObject({ details: { remaining: 0 } });
  });
});

describe('a plan that is not given', () => {
  test('a missing plan is looked up', async () => {
    const { orgId } = await makeAccount('starter');
    await use(meter, { orgId }, 10);
    await expect(use(meter, { orgId }, 1)).rejects.toMatchObject({ code: 'quota_exceeded' });
    await setPlan(db.sql, 'operator:test', orgId, 'enterprise');
    await use(makeMeter(), { orgId }, 1);
  });

  test('the plan of an unknown organization is not found', async () => {
    await expect(async () => meter.reserve({ orgId: 'org_none' }, 'embed', 1)).rejects.toMatchObject({
      code: 'organization_not_found',
    });
  });
});

describe('the quota of a key', () => {
  const keyUnitsOf = async ({ orgId }: Account) =>
    (await db.sql`SELECT used FROM usage_key_counters WHERE org_id = ${orgId} AND key_id = 'k1'`)[0]?.['used'] ?? null;
  const ofKey = (account: Account, embed: number, more: Partial<Account> = {}): Account => ({
    ...account,
    actor: 'key:k1',
    limits: { quotas: { embed } },
    ...more,
  });

  test('is never exceeded by requests at once, nor is that of the plan', async () => {
    const account = await makeAccount('starter');
    const amounts = Array.from({ length: 20 }, () => 1);
    const granted = await race(amounts, () => use(meter, ofKey(account, 7), 1));
    expect(granted).toHaveLength(7);
    await meter.flush();
    expect([await keyUnitsOf(account), await usedOf(account)]).toEqual([7, 7]);
  });

  test('is given back if the plan refuses', async () => {
    const account = await makeAccount('starter');
    await use(meter, ofKey(account, 100), 8);
    await expect(meter.reserve(ofKey(account, 100), 'embed', 5)).rejects.toMatchObject({
      message: expect.stringMatching(/^the plan "starter" has 10 texts a month/),
    });
    await meter.flush();
    expect([await keyUnitsOf(account), await usedOf(account)]).toEqual([8, 8]);
  });

  test('counts what a client uses to which the holder of the key gave access', async () => {
    const account = await makeAccount('starter');
    const client = ofKey(account, 2, { actor: 'grant:g1', grant: { givenBy: 'key:k1' } });
    await use(meter, client, 2);
    await expect(meter.reserve(ofKey(account, 2), 'embed', 1)).rejects.toMatchObject({
      code: 'quota_exceeded',
      details: { key_id: 'k1', limit: 2, remaining: 0, requested: 1 },
    });
  });
});
