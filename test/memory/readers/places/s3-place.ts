import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { S3_KEYS, startS3 } from '../../../support/s3.ts';
import type { SourcePlace } from './place.ts';

export async function openS3Place(): Promise<SourcePlace> {
  const s3 = await startS3();
  const Bucket = await s3.createBucket();
  const client = new S3Client({
    ...{ endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: S3_KEYS.access_key_id, secretAccessKey: S3_KEYS.secret_access_key },
  });
  const remove = async (Key: string) => void (await client.send(new DeleteObjectCommand({ Bucket, Key })));
  const write = async (Key: string, Body: string) => {
    await client.send(new PutObjectCommand({ Bucket, Key, Body }));
  };
  return {
    connection: { type: 's3', endpoint: s3.endpoint, bucket: Bucket, credentials: S3_KEYS },
    config: {},
    write,
    remove,
    async rename(from, to) {
      const CopySource = encodeURIComponent(`${Bucket}/${from}`);
      await client.send(new CopyObjectCommand({ Bucket, Key: to, CopySource }));
      await remove(from);
    },
    async vanish() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      const kept = new Map<string, string>();
      for (const { Key = '' } of Contents) {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
        kept.set(Key, (await Body?.transformToString()) ?? '');
        await remove(Key);
      }
      await client.send(new DeleteBucketCommand({ Bucket }));
      return async () => {
        await client.send(new CreateBucketCommand({ Bucket }));
        for (const [key, content] of kept) await write(key, content);
      };
    },
    async close() {
      client.destroy();
      await s3.drop();
    },
  };
}
