import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { requireConditionalWrites } from '../../src/platform/objects/probe-objects.ts';
import { openS3Objects } from '../../src/platform/objects/s3.ts';
import { runCommand } from '../cli/service.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { keepLogs } from '../support/logs.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { S3_KEYS, s3Available, s3Settings, startS3, type TestS3 } from '../support/s3.ts';
import { type S3Fault, type S3Proxy, startS3Proxy } from '../support/s3-proxy.ts';

const SECRET_KEY = 'the same on every host, 32 characters';

describe.skipIf(!s3Available())('storage on S3', () => {
  let s3: TestS3;
  let dishonest: S3Proxy;
  let bucket: string;
  beforeAll(async () => {
    s3 = await startS3();
    dishonest = await startS3Proxy(s3.endpoint, { isDishonest: true });
  });
  afterAll(async () => {
    await dishonest?.close();
    await s3?.drop();
  });
  beforeEach(async () => {
    bucket = await s3.createBucket();
  });

  async function probe(endpoint: string): Promise<void> {
    const objects = await openS3Objects(s3Settings(endpoint, bucket), keepLogs().logger, { attemptsMax: 1 });
    try {
      await requireConditionalWrites(objects);
      const left: string[] = [];
      for await (const { key } of objects.list('')) left.push(key);
      expect(left).toEqual([]);
    } finally {
      await objects.close();
    }
  }

  describe('the probe of conditional writes', () => {
    it('the probe accepts a store that honours conditional writes, and leaves no objects', async () => {
      await probe(s3.endpoint);
    });

    it('the probe detects a store that accepts every write', async () => {
      await expect(probe(dishonest.endpoint)).rejects.toMatchObject({
        code: 'conditional_writes_ignored',
        message: expect.stringContaining('the second of two writes succeeded'),
      });
    });

    it('the probe detects a store that checks the condition, but not atomically', async () => {
      const racy = await startS3Proxy(dishonest.endpoint);
      const seen = new Set<string>();
      racy.decide = ({ method, path: key }): S3Fault => {
        if (method !== 'PUT' || key.includes('/concurrent')) return null;
        if (seen.has(key)) return { status: 412, code: 'PreconditionFailed' };
        seen.add(key);
        return null;
      };
      await expect(probe(racy.endpoint)).rejects.toMatchObject({
        code: 'conditional_writes_ignored',
        message: expect.stringContaining('8 of 8 concurrent writes succeeded'),
      });
      await racy.close();
    });

    it('the probe does not count another refusal as an honoured condition', async () => {
      const strict = await startS3Proxy(s3.endpoint);
      strict.decide = ({ headers }) =>
        headers['if-none-match'] === undefined ? null : { status: 501, code: 'NotImplemented' };
      await expect(probe(strict.endpoint)).rejects.toBeDefined();
      await strict.close();
    });
  });

  describe('at start-up', () => {
    const opened: TestAppliance[] = [];
    const directories: string[] = [];
    afterEach(async () => {
      for (const appliance of opened.splice(0).reverse()) await appliance.close();
      for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
    });

    const objectsAt = (endpoint: string, more: object = {}) => ({ bucket, endpoint, ...S3_KEYS, ...more });
    async function start(settings: Record<string, unknown>, beside?: TestAppliance): Promise<TestAppliance> {
      const all = { secret_key: SECRET_KEY, ...settings };
      const { logger } = keepLogs();
      const appliance = await openTestAppliance(all, { logger, ...(beside ? { beside } : {}) });
      opened.push(appliance);
      return appliance;
    }
    function anotherDataDir(): string {
      const directory = mkdtempSync(path.join(tmpdir(), 'service-test-'));
      directories.push(directory);
      return directory;
    }

    it('a store that ignores conditional writes is refused for the index, but accepted for files', async () => {
      const objects = objectsAt(dishonest.endpoint);
      await expect(start({ objects })).rejects.toMatchObject({
        code: 'conditional_writes_ignored',
        message: expect.stringContaining('index: {storage: disk}'),
      });
      await start({ objects, index: { storage: 'disk' } });
    });

    it('a second installation with the same prefix is refused, and one with another prefix is accepted', async () => {
      await start({ objects: objectsAt(s3.endpoint) });
      await expect(start({ objects: objectsAt(s3.endpoint) })).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('another installation'),
      });
      await start({ objects: objectsAt(s3.endpoint, { prefix: 'second/' }) });
    });

    it('a second host is refused while the index is on the disk of the first', async () => {
      const settings = { objects: objectsAt(s3.endpoint), index: { storage: 'disk' } };
      const first = await start(settings);
      await start(settings, first);
      for (const second of [{ ...settings, data_dir: anotherDataDir() }, { objects: settings.objects }]) {
        await expect(start(second, first)).rejects.toMatchObject({
          code: 'config_invalid',
          message: expect.stringContaining('index.storage'),
        });
      }
    });

    it('a second host must use the index on S3', async () => {
      const objects = objectsAt(s3.endpoint);
      const first = await start({ objects });
      await start({ objects, data_dir: anotherDataDir() }, first);
      await expect(start({ objects, index: { storage: 'disk' } }, first)).rejects.toMatchObject({
        message: expect.stringContaining('set it to s3'),
      });
    });
  });

  describe('service doctor', () => {
    async function doctor(endpoint: string, more: NodeJS.ProcessEnv = {}) {
      const database = await createTestDatabase();
      const directory = mkdtempSync(path.join(tmpdir(), 'service-test-'));
      try {
        return await runCommand(['doctor'], {
          ...{ SERVICE_DATA_DIR: directory, DATABASE_URL: database.url, SERVICE_SECRET_KEY: SECRET_KEY },
          ...{ S3_BUCKET: bucket, S3_ENDPOINT: endpoint, AWS_ACCESS_KEY_ID: S3_KEYS.access_key_id },
          ...{ AWS_SECRET_ACCESS_KEY: S3_KEYS.secret_access_key, ...more },
        });
      } finally {
        await database.drop();
        rmSync(directory, { recursive: true, force: true });
      }
    }

    it('doctor reports the location and latency of files and index, and that conditions are honoured', async () => {
      const { code, stdout } = await doctor(s3.endpoint);
      const times = String.raw`write [\d.]+ ms, read [\d.]+ ms, delete [\d.]+ ms`;
      expect(stdout).toMatch(new RegExp(`^✔ objects: s3://${bucket}/ at http://127.*: ${times}$`, 'm'));
      expect(stdout).toMatch(/^✔ index: on s3, opened in [\d.]+ ms$/m);
      expect(stdout).toMatch(/^✔ s3: honours conditional writes/m);
      expect(code).toBe(0);
    });

    it('doctor reports that a store ignores conditions or refuses requests, and shows no key', async () => {
      const ignoring = await doctor(dishonest.endpoint);
      expect(ignoring.code).toBe(5);
      expect(ignoring.stdout).toMatch(/^✔ objects: /m);
      expect(ignoring.stdout).toMatch(/^✘ s3: .*ignores conditional writes/m);
      const missing = await doctor(s3.endpoint, { S3_BUCKET: 'no-such-bucket' });
      expect(missing.code).toBe(5);
      expect(missing.stdout).toMatch(
        /^✘ objects: the bucket no-such-bucket at http:\S+ \(S3_BUCKET, S3_ENDPOINT\) cannot be used: there is no such bucket \(S3_BUCKET\) \(404 NoSuchBucket\)/m,
      );
      const nobody = await doctor('http://127.0.0.1:1');
      expect(nobody.stdout).toMatch(/^✘ objects: the bucket \S+ at http:\/\/127\.0\.0\.1:1 .*: nothing listens there/m);
      for (const { stdout } of [missing, nobody])
        expect(stdout).toMatch(/^✘ index: s3:\S+ at http:\S+ is not usable; see the check "objects"$/m);
      for (const { stdout, stderr } of [ignoring, missing]) expect(stdout + stderr).not.toContain('razorbill');
    });
  });
});
