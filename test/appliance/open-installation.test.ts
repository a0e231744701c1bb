import { afterAll, beforeAll, expect, test } from 'vitest';
import { completeAppliance } from '../../src/appliance/open-appliance.ts';
import { type Installation, openInstallation } from '../../src/appliance/open-installation.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';

let service: TestAppliance;

beforeAll(async () => {
  service = await openTestAppliance();
});

afterAll(() => service.close());

function openBeside(): Promise<Installation> {
  return openInstallation(service.appliance.config, { logger: openLogger('error'), poolMax: 3 });
}

test('an installation opens the parts that are asked for and those that they need, and no others', async () => {
  const installation = await openBeside();
  const base = await installation.open([]);
  expect(base.access.installationId).toBe(service.appliance.access.installationId);
  expect(Object.keys(base)).not.toContain('usage');
  expect(Object.keys(await installation.open(['usage']))).not.toContain('embedding');
  const opened = Object.keys(await installation.open(['bulk']));
  expect(opened).toEqual(expect.arrayContaining(['bulk', 'embedding', 'projections', 'localModels', 'metrics']));
  expect(opened).not.toContain('search');
  await installation.close();
});

test('a part is opened once, however often and however many at a time ask for it', async () => {
  const installation = await openBeside();
  const [first, second] = await Promise.all([installation.open(['usage']), installation.open(['embedding', 'usage'])]);
  const { usage } = first;
  expect(second.usage).toBe(usage);
  expect((await installation.open(['usage'])).usage).toBe(usage);
  expect((await completeAppliance(installation)).usage).toBe(usage);
  await installation.close();
});

test('an installation that is closed while parts are being opened closes them too', async () => {
  const installation = await openBeside();
  const opening = installation.open(['search']);
  await installation.close();
  const { sql } = await opening;
  await expect(sql`SELECT 1`).rejects.toThrow();
});
