import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Plan } from '../../src/access/caller.ts';
import { bookReservation, settleBooked } from '../../src/usage/booked-reservations.ts';
import { bookingDay } from '../../src/usage/calendar.ts';
import type { PlanSettings } from '../../src/usage/quotas.ts';
import { selectCounters, selectUsage } from '../../src/usage/store.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const NOW = Date.UTC(2026, 7, 31, 23, 59);
const plans = {
  free: { quotas: { embed_batch: 100 }, requestsPerMinute: {} },
  pro: { quotas: { embed_batch: 0 }, requestsPerMinute: {} },
} as unknown as PlanSettings;

let db: TestDatabase;
beforeEach(async () => {
  db = await createTestDatabase({ poolMax: 12 });
  await db.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'a', 'free')`;
});
afterEach(() => db.drop());

const book = (id: string, amount: number, plan: Plan = 'free') =>
  db.sql.begin((tx) =>
    bookReservation(tx, plans, { id, account: { orgId: 'org_a', plan }, axis: 'embed_batch', amount }, NOW),
  );
const used = async () => (await selectCounters(db.sql, 'org_a', bookingDay(NOW).month)).get('embed_batch') ?? 0;
const ledger = () => selectUsage(db.sql, 'org_a', '2026-08-01', '2026-09-01');

it('a booked reservation counts its units at once, and releases the unused ones when it is settled', async () => {
  await book('job_1', 80);
  expect(await used()).toBe(80);
  expect(await settleBooked(db.sql, 'job_1', [{ model: 'm', texts: 50, tokens: 500 }])).toBe(true);
  expect(await used()).toBe(50);
  expect((await ledger()).byAxis).toEqual([
    { axis: 'embed_batch', requests: 1, texts: 50, tokens: 500, images: 0, output_tokens: 0 },
  ]);
  expect((await ledger()).byDay).toMatchObject([{ date: '2026-08-31' }]);
});

it('a booked reservation is settled once, however many calls there are', async () => {
  await book('job_1', 80);
  const settles = Array.from({ length: 10 }, () =>
    settleBooked(db.sql, 'job_1', [{ model: 'm', texts: 80, tokens: 1 }]),
  );
  expect((await Promise.all(settles)).filter(Boolean)).toHaveLength(1);
  expect(await used()).toBe(80);
  expect((await ledger()).byModel).toEqual([{ model: 'm', requests: 1, tokens: 1 }]);
});

it('a settled reservation counts one request for several models, and none without usage', async () => {
  await book('job_1', 10);
  await book('job_2', 10);
  await settleBooked(db.sql, 'job_1', [
    { model: 'a', texts: 6, tokens: 60 },
    { model: 'b', texts: 4, tokens: 40 },
  ]);
  await settleBooked(db.sql, 'job_2', []);
  expect((await ledger()).byAxis).toMatchObject([{ requests: 1, texts: 10, tokens: 100 }]);
  expect((await ledger()).byModel).toHaveLength(2);
  expect(await used()).toBe(10);
});

it('booked reservations never exceed the limit, and the error names the remaining units', async () => {
  const tries = await Promise.allSettled(Array.from({ length: 12 }, (_, i) => book(`job_${i}`, 30)));
  const refused = tries.filter((outcome) => outcome.status === 'rejected').map((outcome) => outcome.reason);
  expect(refused).toHaveLength(9);
  for (const error of refused) {
    expect(error).toMatchObject({ code: 'quota_exceeded', status: 402, details: { remaining: 10, requested: 30 } });
  }
  expect(await used()).toBe(90);
});

it('an axis that the plan does not include is refused', async () => {
  await expect(book('job_1', 1, 'pro')).rejects.toMatchObject({ code: 'axis_not_in_plan', status: 403 });
});

it('a booked reservation without a limit reserves no units, and its usage counts once', async () => {
  await book('job_1', 1_000_000, 'enterprise');
  expect(await used()).toBe(0);
  await settleBooked(db.sql, 'job_1', [{ model: 'm', texts: 7, tokens: 1 }]);
  expect(await used()).toBe(7);
});

it('a booked reservation is rolled back if its transaction fails', async () => {
  const booking = db.sql.begin(async (tx) => {
    await bookReservation(tx, plans, {
      id: 'j',
      account: { orgId: 'org_a', plan: 'free' },
      axis: 'embed_batch',
      amount: 9,
    });
    throw new Error('the transaction failed');
  });
  await expect(booking).rejects.toThrow('the transaction failed');
  expect(await used()).toBe(0);
  expect(await settleBooked(db.sql, 'j', [{ model: 'm', texts: 9, tokens: 1 }])).toBe(false);
});

it('bookings and settlements of one key with a quota never deadlock', async () => {
  await db.sql`
    INSERT INTO api_keys (id, org_id, name, hash, scopes, auth_level) VALUES ('key_a', 'org_a', 'a', '', '{}', 1)`;
  const limits = { quotas: { embed_batch: 100 } };
  const account = { orgId: 'org_a', plan: 'free', actor: 'key:key_a', limits } as const;
  const once = async (nth: number) => {
    const id = `job_${nth}`;
    await db.sql.begin((tx) => bookReservation(tx, plans, { id, account, axis: 'embed_batch', amount: 1 }, NOW));
    await settleBooked(db.sql, id, []);
  };
  for (let round = 0; round < 20; round++) {
    await Promise.all(Array.from({ length: 12 }, (_, at) => once(round * 12 + at)));
  }
  expect(await used()).toBe(0);
});
