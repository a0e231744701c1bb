import { S3Client } from '@aws-sdk/client-s3';
import { it, onTestFinished } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { createSourceDatabase, makeFolder, syncWorker } from '../support/memory.ts';
import { S3_KEYS, s3Available, startS3 } from '../support/s3.ts';
import { checkWork, folderPlace, s3Place, tablePlace } from './count-work.ts';

const SIZES = { entries: 2_000, changed: 100, removed: 50, added: 50 };
const MS_MAX = 600_000;

async function open(sources: Record<string, unknown>): Promise<TestAppliance> {
  const test = await openTestAppliance({ sources });
  const worker = syncWorker(test);
  await worker.start();
  onTestFinished(async () => {
    await worker.stop();
    await test.close();
  });
  return test;
}

it('100 changed, 50 removed and 50 added files of 2,000 are exactly 200 changes', {
  timeout: MS_MAX,
}, async () => {
  const { folder, remove } = makeFolder();
  onTestFinished(remove);
  const test = await open({ docs: { type: 'folder', root: folder } });
  await checkWork(test, { name: 'docs', connection: 'docs', config: {} }, folderPlace(folder), SIZES);
});

it('100 changed, 50 removed and 50 added rows of 10,000 are exactly 200 changes', {
  timeout: MS_MAX,
}, async () => {
  const source = await createSourceDatabase();
  onTestFinished(() => source.drop());
  const test = await open({ crm: { type: 'postgres', url: source.url } });
  await source.sql`CREATE TABLE articles (id int PRIMARY KEY, title text, body text)`;
  const config = { table: 'articles', text: '{{title}}: {{body}}' };
  const sizes = { ...SIZES, entries: 10_000 };
  await checkWork(test, { name: 'crm', connection: 'crm', config }, tablePlace(source.sql, 'articles'), sizes);
});

it.skipIf(!s3Available())(
  '100 changed, 50 removed and 50 added objects of 2,000 are exactly 200 changes',
  { timeout: MS_MAX },
  async () => {
    const s3 = await startS3();
    const bucket = await s3.createBucket();
    const client = new S3Client({
      ...{ endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true },
      credentials: { accessKeyId: S3_KEYS.access_key_id, secretAccessKey: S3_KEYS.secret_access_key },
    });
    onTestFinished(async () => {
      client.destroy();
      await s3.drop();
    });
    const test = await open({ archive: { type: 's3', endpoint: s3.endpoint, bucket, credentials: S3_KEYS } });
    await checkWork(test, { name: 's3', connection: 'archive', config: {} }, s3Place(client, bucket), SIZES);
  },
);
