import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderOf, modelsFolder } from '../../src/local-models/model-folders.ts';
import { removeModel } from '../../src/local-models/remove-model.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { install } from '../support/local-models.ts';
import { keepLogs } from '../support/logs.ts';
import { S3_KEYS, s3Available, startS3, type TestS3 } from '../support/s3.ts';
import { type S3Proxy, startS3Proxy } from '../support/s3-proxy.ts';
import { until } from '../support/until.ts';

const WITHIN_MS = 120_000;
const never = new AbortController().signal;
const never503 = { code: 'provider_unavailable', status: 503, retryAfterSeconds: expect.any(Number) };

describe.skipIf(!s3Available())('a local model of two hosts that share S3', () => {
  let s3: TestS3;
  let proxy: S3Proxy;
  let bucket: string;
  let first: TestAppliance;
  let second: TestAppliance;
  const dataDirs: string[] = [];
  const { logger, messages } = keepLogs();

  const openHost = async (beside?: TestAppliance, logs = logger) => {
    const dataDir = mkdtempSync(path.join(tmpdir(), 'service-test-'));
    dataDirs.push(dataDir);
    const objects = { bucket, endpoint: proxy.endpoint, prefix: 'service/', ...S3_KEYS };
    const settings = { data_dir: dataDir, secret_key: 'the same on every host, 32 characters', objects };
    return openTestAppliance(settings, beside ? { beside, logger: logs } : {});
  };

  beforeAll(async () => {
    s3 = await startS3();
    proxy = await startS3Proxy(s3.endpoint);
    bucket = await s3.createBucket();
    first = await openHost();
    second = await openHost(first);
  });
  afterAll(async () => {
    await second?.close();
    await first?.close();
    await proxy?.close();
    await s3?.drop();
    for (const dataDir of dataDirs) rmSync(dataDir, { recursive: true, force: true });
  });

  const dataDirOf = (host: TestAppliance) => host.appliance.config.dataDir;
  const embed = (host: TestAppliance, name: string) =>
    host.appliance.localModels.embed(name, ['the ferry to the island'], { isBackground: false }, never);
  const revisionAt = (host: TestAppliance, name: string) =>
    host.appliance.localModels.list().find(({ spec }) => spec.name === name)?.revision ?? null;
  const reaches = (host: TestAppliance, name: string, revision: string) =>
    until(
      async () => {
        await host.appliance.localModels.refresh();
        return revisionAt(host, name) === revision;
      },
      { withinMs: WITHIN_MS, everyMs: 50, what: `revision ${revision} of ${name}` },
    );
  const revisionsOn = (host: TestAppliance, name: string) =>
    readdirSync(path.join(modelsFolder(dataDirOf(host)), name));
  const shared = async (name: string) => {
    const keys: string[] = [];
    for await (const { key } of first.appliance.objects.list(`local-models/${name}/`)) keys.push(key);
    return keys;
  };

  it('it is installed on one, and the other fetches its files and gives the same vectors', async () => {
    const { spec, revision } = await install(first.appliance, 'bert', { name: 'local/shared' });
    expect(await shared('shared')).toHaveLength(spec.files.length);
    await reaches(second, 'local/shared', revision);
    const folder = folderOf(dataDirOf(second), 'local/shared', revision);
    for (const file of spec.files) expect(existsSync(path.join(folder, file.path))).toBe(true);
    expect(await embed(second, 'local/shared')).toEqual(await embed(first, 'local/shared'));
  });

  it('an update reaches the other host, and what was removed is gone from the store and from both', async () => {
    const before = revisionAt(second, 'local/shared');
    const { revision, isUpdate } = await install(first.appliance, 'bert', { name: 'local/shared', variant: 'int8' });
    expect(isUpdate).toBe(true);
    expect(revision).not.toBe(before);
    await reaches(second, 'local/shared', revision);
    expect(await embed(second, 'local/shared')).toEqual(await embed(first, 'local/shared'));
    expect(await shared('shared')).not.toContainEqual(expect.stringContaining(before as string));
    expect(revisionsOn(second, 'shared')).toEqual([revision]);
    await removeModel(first.appliance, { name: 'local/shared', actor: 'operator:test' }, never);
    for (const { appliance } of [first, second]) await appliance.localModels.refresh();
    await expect(embed(second, 'local/shared')).rejects.toMatchObject(never503);
    expect(revisionAt(second, 'local/shared')).toBeNull();
    expect(revisionsOn(second, 'shared')).toEqual([]);
    expect(await shared('shared')).toEqual([]);
  });

  it('a host that cannot reach the store answers 503 meanwhile, and has the model once the store is back', async () => {
    const isFetch = ({ method, path: address }: { method: string; path: string }) =>
      method === 'GET' && address.includes('/local-models/late/');
    proxy.decide = (request) => (isFetch(request) ? { status: 503, code: 'SlowDown' } : null);
    try {
      const { revision } = await install(first.appliance, 'bert', { name: 'local/late' });
      await second.appliance.localModels.refresh();
      await until(async () => messages().includes('a local model cannot be used on this host yet'), {
        withinMs: WITHIN_MS,
      });
      await expect(embed(second, 'local/late')).rejects.toMatchObject(never503);
      proxy.decide = () => null;
      await reaches(second, 'local/late', revision);
      expect(await embed(second, 'local/late')).toEqual(await embed(first, 'local/late'));
    } finally {
      proxy.decide = () => null;
    }
  });

  it('a file that was changed in the store is not used, and nothing of it is left on the host', async () => {
    const { spec, revision } = await install(first.appliance, 'decoder', { name: 'local/changed' });
    // The second host may be fetching it already: a third one has never seen it.
    const [file] = spec.files;
    const key = (await shared('changed')).find((each) => each.endsWith(file?.sha256 as string)) as string;
    await first.appliance.objects.put(key, Buffer.from('other bytes'));
    const logs = keepLogs();
    const third = await openHost(first, logs.logger);
    try {
      await until(async () => logs.messages().includes('a local model cannot be used on this host'), {
        withinMs: WITHIN_MS,
      });
      await reaches(third, 'local/late', revisionAt(first, 'local/late') as string);
      await expect(embed(third, 'local/changed')).rejects.toMatchObject(never503);
      expect(existsSync(folderOf(dataDirOf(third), 'local/changed', revision))).toBe(false);
      expect(readdirSync(modelsFolder(dataDirOf(third))).filter((name) => name.startsWith('.'))).toEqual([]);
    } finally {
      await third.close();
    }
  });
});
