import { existsSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { folderOf, shareFiles } from '../../src/local-models/model-folders.ts';
import { openLocalModels } from '../../src/local-models/open-local-models.ts';
import { deleteLocalModel, upsertLocalModel } from '../../src/local-models/store.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { makeDataDir, openTestAppliance } from '../support/appliance.ts';
import { install } from '../support/local-models.ts';
import { keepLogs } from '../support/logs.ts';
import { unhandledRejections } from '../support/unhandled.ts';
import { until } from '../support/until.ts';

const never = new AbortController().signal;

it('a host that has fetched a model and no longer reaches the database logs so, and leaves no rejection unhandled', async () => {
  const unhandled = unhandledRejections();
  const first = await openTestAppliance();
  onTestFinished(() => first.close());
  const { config, objects, sql } = first.appliance;
  const model = await install(first.appliance, 'bert');
  await shareFiles(objects, folderOf(first.dataDir, model.spec.name, model.revision), model, never);
  await deleteLocalModel(sql, model.spec.name);

  const { dataDir, remove } = makeDataDir();
  onTestFinished(remove);
  const { logger, messages } = keepLogs();
  const own = openPostgres(first.connection, { poolMax: 2, applicationName: 'second' });
  const shared = { ...config, dataDir, objects: { bucket: 'shared' } as never };
  const second = await openLocalModels({ config: shared, sql: own, objects, logger, metrics: openMetrics() });
  await upsertLocalModel(sql, model);
  // The files need turns of the event loop that the end of the pool does not.
  await second.refresh();
  const ended = own.end();
  await until(async () => existsSync(folderOf(dataDir, model.spec.name, model.revision)), { what: 'the files' });
  await until(async () => unhandled.length > 0 || messages().some((line) => line.includes('could not be read')), {
    what: 'the failed reading',
  });
  expect(unhandled).toEqual([]);
  await second.close();
  await ended;
});
