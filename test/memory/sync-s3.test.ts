import { DeleteBucketCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { addSource, sync, syncWorker } from '../support/memory.ts';
import { S3_KEYS, s3Available, startS3, type TestS3 } from '../support/s3.ts';
import { checkWork, s3Place } from './count-work.ts';

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };

describe.skipIf(!s3Available())('a source on S3', () => {
  let test: TestAppliance;
  let s3: TestS3;
  let client: S3Client;
  let worker: ReturnType<typeof syncWorker>;
  let bucket: string;
  let doomed: string;

  beforeAll(async () => {
    s3 = await startS3();
    bucket = await s3.createBucket();
    doomed = await s3.createBucket();
    client = new S3Client({
      ...{ endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true },
      credentials: { accessKeyId: S3_KEYS.access_key_id, secretAccessKey: S3_KEYS.secret_access_key },
    });
    const place = { type: 's3', endpoint: s3.endpoint, credentials: S3_KEYS };
    test = await openTestAppliance({
      sources: { archive: { ...place, bucket }, doomed: { ...place, bucket: doomed } },
    });
    worker = syncWorker(test);
    await worker.start();
  });
  afterAll(async () => {
    await worker.stop();
    await test.close();
    client.destroy();
    await s3.drop();
  });

  const put = (Key: string, Body: string, Bucket = bucket) => client.send(new PutObjectCommand({ Bucket, Key, Body }));

  it('a second synchronisation of a bucket does exactly the work of what changed', async () => {
    const sizes = { entries: 60, changed: 10, removed: 5, added: 5 };
    const source = { name: 'docs', connection: 'archive', config: { prefix: 'docs/' } };
    await checkWork(test, source, s3Place(client, bucket), sizes);
  });

  it('an object is a document with its key and time, and one that is moved is renamed', async () => {
    await put('moves/before.txt', 'The text of an object.');
    await put('moves/folder/', '');
    await put('moves/skipped.bin', 'x');
    const config = { prefix: 'moves/', include: ['**/*.txt'] };
    const { id } = await addSource(test, { name: 'moves', connection: 'archive', config });
    expect((await sync(test, id)).counts).toEqual({ ...NONE, added: 1 });
    await put('moves/after.txt', 'The text of an object.');
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'moves/before.txt' }));
    expect((await sync(test, id)).counts).toEqual({ ...NONE, renamed: 1 });
    const [document] = await test.appliance.sql`SELECT * FROM documents WHERE source_id = ${id}`;
    expect(document).toMatchObject({
      ...{ file_name: 'after.txt', source_path: 'moves/after.txt', event_time: expect.any(Date) },
      metadata: { source_kind: 's3', source_connection_id: id },
    });
  });

  it('a large object is streamed, and is no work again after it was written with the same content', async () => {
    const text = 'A line of a long text about tides. '.repeat(200_000);
    await put('large/a.txt', text);
    const config = { prefix: 'large/' };
    const { id } = await addSource(test, { name: 'large', connection: 'archive', config });
    expect((await sync(test, id)).counts).toEqual({ ...NONE, added: 1 });
    const [document] = await test.appliance.sql`SELECT size_bytes FROM documents WHERE source_id = ${id}`;
    expect(document?.['size_bytes']).toBe(text.length);
    await put('large/b.txt', text);
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: 'large/a.txt' }));
    expect((await sync(test, id)).counts).toEqual({ ...NONE, renamed: 1 });
  });

  it('a bucket that vanished is an error, and its documents stay', async () => {
    await put('a.txt', 'Good data.', doomed);
    const { id } = await addSource(test, { name: 'doomed', connection: 'doomed' });
    await sync(test, id);
    await client.send(new DeleteObjectCommand({ Bucket: doomed, Key: 'a.txt' }));
    await client.send(new DeleteBucketCommand({ Bucket: doomed }));
    const failed = await sync(test, id);
    expect(failed).toMatchObject({
      sync_state: 'error',
      error_category: 'source_missing',
      error_message: expect.stringContaining(`no bucket ${doomed}`),
    });
    const left = await test.appliance.sql`SELECT 1 FROM documents WHERE source_id = ${id} AND status <> 'deleting'`;
    expect(left).toHaveLength(1);
  });
});
