import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { judgeReplica } from '../../src/cli/doctor-replica.ts';
import { type Database, openPostgres, postgresUrl } from '../../src/platform/postgres.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { keepLogs } from '../support/logs.ts';
import { openReplicatedPostgres, type ReplicatedPostgres } from '../support/replica.ts';
import { until } from '../support/until.ts';

const MAX_LAG_SECONDS = 2;

const logs = keepLogs();
let postgres: ReplicatedPostgres;
/** Connection to the replica, to pause it. */
let replica: Database;
/** Two servers on one data directory, as two processes behind a load balancer. */
let api: TestApi;
let other: TestApi;
let key: string;

beforeAll(async () => {
  postgres = await openReplicatedPostgres();
  replica = openPostgres(postgres.replica, { poolMax: 2, applicationName: 'test' });
  const settings = {
    database_url: postgresUrl(postgres.primary),
    database_replica_url: postgresUrl(postgres.replica),
    database_replica_max_lag_seconds: MAX_LAG_SECONDS,
  };
  api = await openTestApi({ worker: false, settings, logger: logs.logger });
  other = await openTestApi({ worker: false, settings, beside: api });
  key = await api.key({ authLevel: 10, scopes: ['documents:write', 'search', 'buckets:manage'] });
}, 120_000);
afterAll(async () => {
  await other?.close();
  await api?.close();
  await replica?.end({ timeout: 1 });
  await postgres?.close();
});

const status = () => api.appliance.reads.replica as NonNullable<typeof api.appliance.reads.replica>;
const isUsed = () => until(async () => status().state === 'ok' && other.appliance.reads.replica?.state === 'ok');
const answered = async (work: () => Promise<unknown>) => {
  const { answered: before } = status();
  await work();
  return status().answered - before;
};

const names = async (of: TestApi, by = key) =>
  ((await of.call('GET', '/v1/buckets/default/documents', { key: by })).body.data as { file_name: string }[]).map(
    ({ file_name }) => file_name,
  );
const upload = async (filename: string, fields: object = {}): Promise<string> => {
  const json = { filename, text: `the text of ${filename}`, ...fields };
  const { status: code, body } = await api.call('POST', '/v1/buckets/default/documents', { key, json });
  expect(code).toBe(202);
  return body.id;
};

beforeEach(isUsed, 30_000);
afterEach(() => replica`SELECT pg_wal_replay_resume() WHERE pg_is_in_recovery()`);

test('the replica answers lists, documents, jobs and usage, and usage tells the age of its data', async () => {
  const id = await upload('answered.txt');
  const documents = ['/v1/buckets/default/documents', `/v1/documents/${id}`, '/v1/documents?name=answered'];
  const paths = [...documents, '/v1/jobs', '/v1/usage/summary'];
  for (const path of paths) {
    const read = async () => {
      const reply = await api.call('GET', path, { key });
      expect([path, reply.status, reply.headers.get('X-Read-Staleness')]).toEqual([path, 200, null]);
    };
    // A busy machine may delay the replica for longer than a read waits for it.
    await until(async () => (await answered(read)) > 0, { what: path });
  }
  for (const path of ['/v1/usage', '/v1/usage/keys']) {
    const { headers } = await api.call('GET', path, { key });
    expect(Number(headers.get('X-Read-Staleness'))).toBeGreaterThan(0);
    expect(Number(headers.get('X-Read-Staleness'))).toBeLessThan(MAX_LAG_SECONDS);
  }
});

test('a list shows what its client wrote just before, through another server too', async () => {
  for (let n = 0; n < 20; n++) {
    await upload(`written-${n}.txt`);
    expect(await names(n % 2 === 0 ? api : other)).toContain(`written-${n}.txt`);
  }
});

test('a replica that does not replay is not asked for lists, and lists show no document that was hidden meanwhile', async () => {
  const id = await upload('hidden-soon.txt', { privacy_level: 1 });
  const low = await api.key({ authLevel: 1 });
  expect(await names(api, low)).toContain('hidden-soon.txt');
  await replica`SELECT pg_wal_replay_pause()`;
  const json = { privacy_level: 9, reindex: false };
  expect(await api.call('PATCH', `/v1/buckets/default/documents/${id}/metadata`, { key, json })).toMatchObject({
    status: 200,
  });
  expect(await answered(async () => expect(await names(api, low)).not.toContain('hidden-soon.txt'))).toBe(0);
  expect((await other.call('GET', `/v1/documents/${id}`, { key: low })).status).toBe(404);
  await upload('while-paused.txt');
  expect(await names(other)).toContain('while-paused.txt');

  await until(async () => status().state !== 'ok');
  expect(status().state).toMatch(/^it is \d+\.\d s behind$/);
  const usage = await api.call('GET', '/v1/usage', { key });
  expect([usage.status, usage.headers.get('X-Read-Staleness')]).toEqual([200, null]);
  const ready = await api.call('GET', '/readyz');
  expect(ready).toMatchObject({ status: 200, body: { status: 'degraded', checks: { replica: status().state } } });
  const metrics = await api.appliance.metrics.registry.metrics();
  expect(metrics).toMatch(/^service_replica_usable 0$/m);
  expect(metrics).toMatch(/^service_replica_lag_seconds\{replica="postgres"\} [2-9]/m);

  await replica`SELECT pg_wal_replay_resume()`;
  await isUsed();
  await until(async () => (await api.call('GET', '/readyz')).body.checks.replica === 'ok');
  expect(await names(api, low)).not.toContain('hidden-soon.txt');
});

test('doctor tells that the replica answers reads', async () => {
  expect(await judgeReplica(api.appliance.sql, api.appliance.config, logs.logger)).toEqual({
    status: 'ok',
    detail: expect.stringMatching(/^answers reads, \d+ ms behind$/),
  });
});

test('the replica of an idle primary is not behind', async () => {
  await api.appliance.sql`SELECT pg_switch_wal()`;
  for (let n = 0; n < 4; n++) {
    const { lagMs } = status();
    await until(async () => status().lagMs !== lagMs);
    expect([status().state, (status().lagMs ?? Number.NaN) < 1_500]).toEqual(['ok', true]);
  }
});

test.each(['SIGSTOP', 'SIGKILL'] as const)(
  'the primary answers within seconds after %s of the replica',
  async (signal) => {
    logs.lines.length = 0;
    await postgres.signalReplica(signal);
    const beganMs = performance.now();
    const reads = Array.from({ length: 8 }, () => api.call('GET', '/v1/jobs', { key }));
    for (const reply of await Promise.all(reads)) expect(reply.status).toBe(200);
    expect(performance.now() - beganMs).toBeLessThan(10_000);
    await until(async () => status().state === 'it is not reachable');
    expect((await api.call('GET', '/readyz')).status).toBe(200);
    const told = logs.messages().filter((message) => message === 'the primary answers instead of the replica');
    expect(told).toHaveLength(1);
    // A killed embedded server is started again.
    if (signal === 'SIGSTOP') await postgres.signalReplica('SIGCONT');
    await isUsed();
    expect(logs.messages()).toContain('the replica answers reads');
  },
  60_000,
);

test('a database that is no replica of this one is not read', async () => {
  const settings = { database_url: postgresUrl(postgres.primary), database_replica_url: postgresUrl(postgres.primary) };
  const wrong = await openTestApi({ worker: false, settings, beside: api });
  try {
    await until(async () => wrong.appliance.reads.replica?.state === 'it is not a streaming replica');
    const judged = await judgeReplica(wrong.appliance.sql, wrong.appliance.config, logs.logger);
    expect(judged).toEqual({
      status: 'warning',
      detail: 'it is not a streaming replica; the primary answers instead',
    });
    expect(await names(wrong)).toEqual(await names(api));
    expect(wrong.appliance.reads.replica?.answered).toBe(0);
  } finally {
    await wrong.close();
  }
});

test('a promoted replica is not read any more', async () => {
  await replica`SELECT pg_promote()`;
  await until(async () => status().state === 'it is not a streaming replica');
  await upload('after-promotion.txt');
  expect(await names(other)).toContain('after-promotion.txt');
});
