import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { inject } from 'vitest';
import { Secret } from '../../src/platform/secret.ts';
import type { S3Settings } from '../../src/platform/storage-settings.ts';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

export const S3_KEYS = { access_key_id: 'fulmar.scurvygrass', secret_access_key: 'razorbill.dulse' } as const;

export interface TestS3 {
  readonly endpoint: string;
  /** Create an empty bucket. @returns its name */
  createBucket(): Promise<string>;
  /** Stop the server; its data is lost. */
  drop(): Promise<void>;
}

/** Return true if this machine has an S3 server. Without one, tests that need it are skipped. */
export function s3Available(): boolean {
  return inject('servers').s3;
}

/** Start an S3 server for one test in memory, on a free port of the loopback address. */
export async function startS3(): Promise<TestS3> {
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-s3-'));
  const port = await freePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const child: ChildProcess = spawn('ministack', [], {
    stdio: 'ignore',
    env: {
      ...{ PATH: process.env['PATH'], HOME: directory, TMPDIR: directory, STATE_DIR: directory },
      ...{ SERVICES: 's3', GATEWAY_PORT: String(port), BIND_HOST: '127.0.0.1', LOG_LEVEL: 'ERROR' },
    },
  });
  await until(
    async () => {
      if (child.exitCode !== null) throw new Error(`ministack ended with ${child.exitCode}`);
      return (await fetch(`${endpoint}/_ministack/health`).catch(() => null))?.ok;
    },
    { what: 'ministack' },
  );
  const client = new S3Client({
    ...{ endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId: S3_KEYS.access_key_id, secretAccessKey: S3_KEYS.secret_access_key },
  });
  let buckets = 0;
  return {
    endpoint,
    async createBucket() {
      buckets++;
      const Bucket = `bucket-${buckets}`;
      await client.send(new CreateBucketCommand({ Bucket }));
      return Bucket;
    },
    async drop() {
      client.destroy();
      if (child.exitCode === null && child.signalCode === null) {
        const exit = once(child, 'exit');
        child.kill('SIGKILL');
        await exit;
      }
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Return the settings of a client of the server or of its proxy. */
export function s3Settings(endpoint: string, bucket: string, more: Partial<S3Settings> = {}): S3Settings {
  return {
    ...{ bucket, endpoint, region: 'us-east-1', prefix: '', pathStyle: true },
    credentials: {
      accessKeyId: new Secret(S3_KEYS.access_key_id),
      secretAccessKey: new Secret(S3_KEYS.secret_access_key),
      sessionToken: null,
    },
    ...more,
  };
}
