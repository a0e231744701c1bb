import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { restoreInstallation } from '../../src/appliance/restore-installation.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { S3_KEYS, s3Available, startS3, type TestS3 } from '../support/s3.ts';
import { backUp, never, openOtherMachine, secretKeyOf } from './support.ts';

const logger = openLogger('error');
const hasS3 = s3Available();
let s3: TestS3;
let source: TestApi;

beforeAll(async () => {
  if (!hasS3) return;
  s3 = await startS3();
});
afterAll(async () => {
  await source?.close();
  await s3?.drop();
});

test.skipIf(!hasS3)('a backup in a bucket is incremental and restored by an installation without one', async () => {
  const objects = { endpoint: s3.endpoint, ...S3_KEYS };
  const to = `s3://${await s3.createBucket()}/backups/service/`;
  source = await openTestApi({ settings: { objects, backup: { to } } });
  const texts = Array.from({ length: 20 }, (_, nth) => ({
    ...{ id: String(nth), fileName: `note-${nth}.txt`, text: `Note ${nth} on the lantern.` },
  }));
  await ingestAll(source.appliance, source.operator, 'default', texts);
  const location = source.appliance.config.backup.to;
  if (location === null) throw new Error('the setting has no effect');
  const first = await backUp(source.appliance, location);
  expect(first.new_files).toBe(first.files);
  expect(await backUp(source.appliance, location)).toMatchObject({ new_files: 0, files: first.files });

  const other = await openOtherMachine(secretKeyOf(source.dataDir));
  onTestFinished(() => other.remove());
  const config = loadConfig({
    env: {},
    overrides: { data_dir: other.dataDir, database_url: other.database.url, objects, backup: { to } },
  });
  const request = {
    location,
    backup: first.id,
    force: false,
    acceptsUnsigned: false,
    actor: 'operator:test',
    logger,
    signal: never(),
  };
  expect(await restoreInstallation(config, request)).toMatchObject({ id: first.id, index: { chunks: 20 } });
});
