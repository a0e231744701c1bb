import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { withFileLock } from '../../src/platform/embedded-postgres/file-lock.ts';
import { ownIdentity } from '../../src/platform/embedded-postgres/process-identity.ts';
import { clusterUnderTest } from '../support/embedded-cluster.ts';

const cluster = clusterUnderTest();

test('a file lock of a process whose pid has been taken by another is stale', async () => {
  const lock = path.join(cluster.root, 'a.lock');
  await writeFile(lock, JSON.stringify({ ...(await ownIdentity()), startTime: '1', nonce: 'x' }));
  expect(await withFileLock(lock, async () => 'mine', { waitMs: 1_000 })).toBe('mine');
  expect(existsSync(lock)).toBe(false);
});

test('a file lock of an earlier boot, or one that a power failure left incomplete, is stale', async () => {
  const lock = path.join(cluster.root, 'a.lock');
  for (const content of ['', '{"pid": 1', JSON.stringify({ ...(await ownIdentity()), bootId: 'another' })]) {
    await writeFile(lock, content);
    expect(await withFileLock(lock, async () => 'mine', { waitMs: 1_000 })).toBe('mine');
  }
  expect(await readdir(cluster.root)).toEqual([]);
});

test('a file lock of a living process is waited for, and no longer than allowed', async () => {
  const lock = path.join(cluster.root, 'a.lock');
  await withFileLock(lock, async () => {
    await expect(withFileLock(lock, async () => 'never', { waitMs: 50 })).rejects.toMatchObject({
      code: 'data_directory_busy',
    });
  });
  expect(await readdir(cluster.root)).toEqual([]);
});
