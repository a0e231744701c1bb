import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

// Processes that stop or are killed while they hold searches that are not in the log yet.

let test: TestApi;
let admin: string;
let env: NodeJS.ProcessEnv;
let service: ServiceProcess | null = null;

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  admin = await test.key({ scopes: ['search', 'users:manage', 'buckets:manage'] });
  await test.call('POST', '/v1/buckets', { key: admin, json: { name: 'default' } });
  await test.call('PUT', '/v1/search/log/level', { key: admin, json: { level: 'queries' } });
  env = { SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
}, 120_000);
afterAll(async () => {
  await service?.end('SIGKILL');
  await test.close();
});

const start = async () => {
  service = await startServiceProcess(['serve', '--no-workers', '--port', '0'], env);
  return service;
};

async function search(of: ServiceProcess, query: string): Promise<string> {
  const response = await fetch(`${of.ready['url']}/v2/buckets/default/search`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${admin}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ query, mode: 'keyword' }),
  });
  expect(response.status).toBe(200);
  return ((await response.json()) as { search_id: string }).search_id;
}

const logged = async (): Promise<string[]> =>
  (await test.appliance.sql<{ id: string }[]>`SELECT id FROM search_log`).map(({ id }) => id);

it('a process that is asked to stop loses no search, and one that is killed none that it has written', async () => {
  const stopped = await start();
  const asked = await Promise.all(Array.from({ length: 50 }, (_, nth) => search(stopped, `before the stop ${nth}`)));
  await stopped.end('SIGTERM');
  expect((await logged()).toSorted()).toEqual(asked.toSorted());

  const killed = await start();
  const older = await Promise.all(Array.from({ length: 50 }, (_, nth) => search(killed, `long before ${nth}`)));
  const isWritten = async () => {
    const ids = new Set(await logged());
    return older.every((id) => ids.has(id));
  };
  await until(isWritten, { what: 'the older searches in the log' });
  await Promise.all(Array.from({ length: 50 }, (_, nth) => search(killed, `just before ${nth}`)));
  await killed.end('SIGKILL');
  expect(await isWritten()).toBe(true);
}, 120_000);
