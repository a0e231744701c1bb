import { expect, it } from 'vitest';
import { SCOPES, type Scope } from '../../src/access/caller.ts';
import { issueToken } from '../../src/access/tokens.ts';
import { openTestApi } from '../support/api.ts';
import { CRON_SECRET, DOCUMENTS, jobsUnderTest } from './jobs-under-test.ts';

const fixture = jobsUnderTest();

const reap = (query = '', headers: Record<string, string> = {}, key?: string) =>
  fixture.test.call('POST', `/v1/admin/reap-stale-jobs${query}`, { headers, ...(key ? { key: key } : {}) });
const cron = { 'X-Cron-Secret': CRON_SECRET };

it('a reap call fails jobs without a checkpoint for too long, updates their documents, and names them', async () => {
  const job = await fixture.jobIn('embedding');
  const fresh = await fixture.jobIn('embedding');
  await fixture.test.appliance.sql`UPDATE jobs SET checkpoint_at = now() - interval '61 minutes' WHERE id = ${job}`;
  const { status, body } = await reap('?timeout_minutes=60', cron);
  expect(status).toBe(200);
  expect(body).toEqual({
    timeout_minutes: 60,
    reaped_count: 1,
    jobs: [{ job_id: job, org_id: fixture.test.operator.orgId, stuck_status: 'embedding' }],
  });
  const failed = (await fixture.call('GET', `/v1/jobs/${job}`)).body;
  expect(failed).toMatchObject({
    status: 'failed',
    error_category: 'stale',
    failed_phase: 'embedding',
    retryable: true,
  });
  expect((await fixture.call('GET', `${DOCUMENTS}/${failed.document_id}`)).body.status).toBe('failed');
  expect((await fixture.call('GET', `/v1/jobs/${fresh}`)).body.status).toBe('embedding');
  expect((await reap('', cron)).body).toEqual({ timeout_minutes: 30, reaped_count: 0, jobs: [] });
});

it('a reap call takes a platform_admin key or token', async () => {
  const { sql, keyRing } = fixture.test.appliance;
  expect((await reap('', {}, await fixture.test.key({ scopes: ['platform_admin'] }))).status).toBe(200);
  const make = (role: 'platform_admin' | 'owner') =>
    issueToken(sql, keyRing, fixture.test.operator, { email: `${role}@example.test`, role, ttlMs: 60_000 });
  expect((await reap('', {}, (await make('platform_admin')).token.reveal())).status).toBe(200);
  expect((await reap('', {}, (await make('owner')).token.reveal())).status).toBe(401);
});

it('a reap call refuses every caller but platform admins and the cron secret', async () => {
  const admin = await fixture.test.key({ scopes: ['platform_admin'] });
  const ordinary = await fixture.test.key({ scopes: SCOPES.filter((scope) => scope !== 'platform_admin') as Scope[] });
  for (const [label, answer, status] of [
    ['no credential', await reap(), 401],
    ['an ordinary key', await reap('', {}, ordinary), 401],
    ['a bad key', await reap('', {}, 'svc_wrong'), 401],
    ['a wrong secret', await reap('', { 'X-Cron-Secret': 'wrong' }), 403],
    ['an empty secret', await reap('', { 'X-Cron-Secret': '' }), 403],
    ['a longer secret', await reap('', { 'X-Cron-Secret': `${CRON_SECRET}x` }), 403],
    ['the secret twice', await reap('', { 'X-Cron-Secret': `${CRON_SECRET}, ${CRON_SECRET}` }), 403],
    ['a wrong secret beside a good key', await reap('', { 'X-Cron-Secret': 'wrong' }, admin), 403],
    ['the secret as a key', await reap('', {}, CRON_SECRET), 401],
    ['GET', await fixture.test.call('GET', '/v1/admin/reap-stale-jobs', { headers: cron }), 405],
  ] as const) {
    expect([label, answer.status, Object.keys(answer.body)]).toEqual([label, status, ['detail']]);
    if (status === 401) expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(JSON.stringify(answer.body)).not.toContain('canary');
  }
});

it.each(['0', '1441', '-1', '1.5', 'x', '', 'NaN', '1e9', '30&timeout_minutes=40'])(
  'a reap call refuses timeout_minutes=%s',
  async (value) => {
    const { status, body } = await reap(`?timeout_minutes=${value}`, cron);
    expect([status, body]).toEqual([400, { detail: expect.stringContaining('timeout_minutes') }]);
  },
);

it.each([1, 1440])('a reap call takes timeout_minutes=%i', async (value) => {
  expect((await reap(`?timeout_minutes=${value}`, cron)).body.timeout_minutes).toBe(value);
});

it('a reap call is refused for any secret if the settings have none', async () => {
  const other = await openTestApi({ worker: false });
  for (const secret of ['', 'null', 'undefined', CRON_SECRET]) {
    const { status } = await other.call('POST', '/v1/admin/reap-stale-jobs', { headers: { 'X-Cron-Secret': secret } });
    expect(status).toBe(403);
  }
  await other.close();
});
