import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Plan } from '../../src/access/caller.ts';
import { createOrganization } from '../../src/access/organizations.ts';
import { newId } from '../../src/platform/ids.ts';
import { type Meter, openMeter } from '../../src/usage/meter.ts';
import type { PlanSettings } from '../../src/usage/quotas.ts';
import { type Axis, UsageSummary } from '../../src/usage/schema.ts';
import { summarizeUsage } from '../../src/usage/summarize-usage.ts';
import { keepLogs } from '../support/logs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const PLANS: PlanSettings = { free: { quotas: { embed: 100, embed_image: 0 }, requestsPerMinute: {} } };
const NOW = Date.parse('2026-08-15T12:00:00Z');

let db: TestDatabase;
let meter: Meter;
let now = NOW;
beforeAll(async () => {
  db = await createTestDatabase();
  meter = openMeter({ sql: db.sql, plans: PLANS, logger: keepLogs().logger, now: () => now });
});
afterAll(async () => {
  await db.drop();
});

async function makeAccount(plan: Plan) {
  const { id } = await createOrganization(db.sql, 'operator:test', { name: newId('name'), plan });
  return { orgId: id, plan };
}
type TestAccount = Awaited<ReturnType<typeof makeAccount>>;

async function use(account: TestAccount, day: string, model: string, texts: number, axis: Axis = 'embed') {
  now = Date.parse(`${day}T10:00:00Z`);
  const reservation = await meter.reserve(account, axis, texts);
  reservation.settle([{ model, texts, tokens: texts * 10 }]);
  now = NOW;
}

async function summarize(account: { orgId: string; plan?: Plan }, range = {}) {
  await meter.flush();
  return summarizeUsage(db.sql, { plans: PLANS, answers: null }, account, range, NOW);
}

test('a summary covers this month by default, and includes the pending usage of this process', async () => {
  const account = await makeAccount('free');
  await use(account, '2026-07-31', 'a', 50);
  await use(account, '2026-08-01', 'a', 1);
  await use(account, '2026-08-03', 'b', 30);
  await use(account, '2026-08-03', 'a', 2);
  await use(account, '2026-08-03', 'b', 5, 'embed_batch');
  await use(await makeAccount('free'), '2026-08-03', 'a', 9);
  const summary = await summarize(account);
  expect(UsageSummary.strict().parse(summary)).toEqual(summary);
  expect(summary).toEqual({
    object: 'usage.summary',
    org_id: account.orgId,
    plan: 'free',
    period: { start: '2026-08-01T00:00:00.000Z', end: '2026-09-01T00:00:00.000Z' },
    axes: {
      embed: { requests: 3, texts: 33, tokens: 330, images: 0, limit: 100, remaining: 67 },
      embed_batch: { requests: 1, texts: 5, tokens: 50, images: 0, limit: null, remaining: null },
      embed_image: { requests: 0, texts: 0, tokens: 0, images: 0, limit: 0, remaining: 0 },
      answers: {
        requests: 0,
        texts: 0,
        tokens: 0,
        output_tokens: 0,
        price: null,
        images: 0,
        limit: null,
        remaining: null,
      },
    },
    by_model: [
      { model: 'b', requests: 2, tokens: 350 },
      { model: 'a', requests: 2, tokens: 30 },
    ],
    by_day: [
      { date: '2026-08-01', tokens: 10, requests: 1 },
      { date: '2026-08-03', tokens: 370, requests: 3 },
    ],
  });
});

test('a summary of another period contains its usage, but the remaining units of the current month', async () => {
  const account = await makeAccount('free');
  await use(account, '2026-07-30', 'a', 10);
  await use(account, '2026-07-31', 'a', 20);
  await use(account, '2026-08-02', 'a', 40);
  const summary = await summarize(account, { from: '2026-07-31', to: '2026-08-01' });
  expect(summary.axes.embed).toMatchObject({ texts: 20, limit: 100, remaining: 60 });
  expect(summary.by_day).toEqual([{ date: '2026-07-31', tokens: 200, requests: 1 }]);
});

test('the summary of an organization without usage is empty, and its plan is looked up', async () => {
  const { orgId } = await makeAccount('free');
  const summary = await summarize({ orgId });
  expect(summary).toMatchObject({ plan: 'free', by_model: [], by_day: [] });
  expect(summary.axes.embed).toMatchObject({ requests: 0, remaining: 100 });
});

test('no units remain on a plan with a lower limit than the usage', async () => {
  const account = await makeAccount('enterprise');
  await use(account, '2026-08-02', 'a', 400);
  expect((await summarize({ ...account, plan: 'free' })).axes.embed).toMatchObject({ texts: 400, remaining: 0 });
});

test('a request of several models counts once by axis and day, and once for each model', async () => {
  const account = await makeAccount('enterprise');
  const reservation = await meter.reserve(account, 'embed_batch', 3);
  reservation.settle([
    { model: 'en', texts: 2, tokens: 20 },
    { model: 'ko', texts: 1, tokens: 5 },
  ]);
  const summary = await summarize(account);
  expect(summary.axes.embed_batch).toMatchObject({ requests: 1, texts: 3, tokens: 25 });
  expect(summary.by_day).toMatchObject([{ requests: 1, tokens: 25 }]);
  expect(summary.by_model).toEqual([
    { model: 'en', requests: 1, tokens: 20 },
    { model: 'ko', requests: 1, tokens: 5 },
  ]);
});

test('an invalid period is refused', async () => {
  const account = await makeAccount('free');
  await expect(summarize(account, { from: 'x' })).rejects.toMatchObject({ status: 400, param: 'from' });
});

test('the summary of an unknown organization is refused', async () => {
  await expect(summarize({ orgId: 'org_none' })).rejects.toMatchObject({ code: 'organization_not_found' });
});

test('periods at the bounds of the years that are allowed are summed, and those beyond are refused', async () => {
  const account = await makeAccount('free');
  for (const range of [
    { from: '1970-01-01', to: '1970-01-02' },
    { from: '9998-12-31T23:59:59Z', to: '9998-12-31T23:59:59.999Z' },
    { to: '1970-01-01T00:00:01Z' },
  ]) {
    expect((await summarize(account, range)).axes.embed).toMatchObject({ requests: 0 });
  }
  for (const [range, param] of [
    [{ from: '0000-01-01', to: '0000-02-01' }, 'to'],
    [{ from: '0000-01-01' }, 'from'],
    [{ from: '9999-12-01', to: '9999-12-31T23:59:59Z' }, 'to'],
  ] as const) {
    await expect(summarize(account, range)).rejects.toMatchObject({ status: 400, code: 'invalid_request', param });
  }
});
