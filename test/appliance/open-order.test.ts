import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PartName } from '../../src/appliance/appliance.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { openInstallation } from '../../src/appliance/open-installation.ts';
import { PART_OPENERS } from '../../src/appliance/part-openers.ts';
import { type Config, loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const ALL = Object.keys(PART_OPENERS) as PartName[];
const OPTIONS = { logger: openLogger('silent'), poolMax: 4 };
/** Embeddings cannot open, since no catalog has the model. All other parts can. */
const UNKNOWN_MODEL = { alias: { 'service-embed-1-small': { default: 'nobody/no-model' } } };

let database: TestDatabase;
let admin: ReturnType<typeof openPostgres>;
const folder = makeDataDir();

beforeAll(async () => {
  database = await createTestDatabase();
  admin = openPostgres(database.connection, { poolMax: 1, applicationName: 'admin' });
});

afterAll(async () => {
  await admin?.end({ timeout: 1 });
  await database?.drop();
  folder.remove();
});

function configWith(settings: Record<string, unknown> = {}): Config {
  const own = { data_dir: folder.dataDir, database_url: database.url, ballast_bytes: 0 };
  return loadConfig({ env: {}, overrides: { ...own, ...settings } });
}

/** Wait until no connection of an installation is left. PostgreSQL notices the end of one a moment later. */
async function noConnectionIsLeft(): Promise<void> {
  const left = async () => {
    const rows = await admin`
      SELECT application_name FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'service%'`;
    return rows.length === 0;
  };
  await until(left, { what: 'the end of all connections of the installation' });
}

test('each part opens after the parts that it needs, whichever is asked for first', async () => {
  for (const asked of [ALL, ALL.toReversed()]) {
    const installation = await openInstallation(configWith(), OPTIONS);
    const order = Object.keys(await installation.open(asked)).filter((name) => name in PART_OPENERS) as PartName[];
    expect(order.toSorted()).toEqual(ALL.toSorted());
    for (const name of order) {
      const before = order.slice(0, order.indexOf(name));
      expect(before, `what is open before ${name}`).toEqual(expect.arrayContaining([...PART_OPENERS[name].needs]));
    }
    await installation.close();
  }
  await noConnectionIsLeft();
});

test('the stores close after the parts that use them: usage that waits to be written is in the database', async () => {
  const appliance = await openAppliance(configWith(), OPTIONS);
  const { orgId } = await appliance.access.operator('default');
  const charge = { account: { orgId, plan: 'enterprise', actor: 'key:heron' }, axis: 'embed' } as const;
  await appliance.embedding.embedder.embed({ texts: ['a heron'], orgId, charge });
  await appliance.close();
  expect(await admin`SELECT requests FROM usage_by_actor WHERE actor = 'key:heron'`).toEqual([{ requests: 1 }]);
  await noConnectionIsLeft();
});

test('a part that fails to open closes the parts and stores that are already open', async () => {
  await expect(openAppliance(configWith(UNKNOWN_MODEL), OPTIONS)).rejects.toMatchObject({ code: 'config_invalid' });
  await noConnectionIsLeft();
});

test('a part that fails to open fails for all that ask for it at the same time, and others still open', async () => {
  const installation = await openInstallation(configWith(UNKNOWN_MODEL), OPTIONS);
  const asked = [installation.open(['embedding']), installation.open(['search', 'embedding'])];
  const settled = await Promise.allSettled(asked);
  const reasons = settled.map((each) => (each.status === 'rejected' ? each.reason : null));
  expect(reasons[0]).toMatchObject({ code: 'config_invalid' });
  expect(reasons[1]).toBe(reasons[0]);
  expect(Object.keys(await installation.open(['usage']))).toContain('usage');
  await installation.close();
  await noConnectionIsLeft();
});

test('a database that this release refuses leaves no connection open', async () => {
  await admin`INSERT INTO schema_compatibility (minimum_version) VALUES (9999)
    ON CONFLICT (only_row) DO UPDATE SET minimum_version = 9999`;
  await expect(openInstallation(configWith(), OPTIONS)).rejects.toMatchObject({ code: 'database_too_new' });
  await noConnectionIsLeft();
});
