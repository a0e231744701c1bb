import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, statfs, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDiskObjects } from '../../src/platform/objects/disk.ts';
import { openThreads } from '../../src/platform/threads.ts';
import { testObjects } from '../conformance/objects.ts';

const run = promisify(execFile);

describe.each([
  ['disk', false],
  ['disk with threads', true],
])('driver %s', (driver, hasThreads) => {
  testObjects(driver, async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'service-test-objects-'));
    const threads = openThreads();
    return {
      objects: await openDiskObjects({
        directory: path.join(directory, 'objects'),
        ...(hasThreads ? { threads } : {}),
      }),
      directory,
      async close() {
        await threads.close();
        await rm(directory, { recursive: true, force: true });
      },
    };
  });
});

describe('the disk driver', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'service-test-objects-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  test('a reopened storage keeps its objects, and removes only temporary files that are an hour old', async () => {
    const objects = await openDiskObjects({ directory });
    await objects.put('kept/one', Buffer.from('x'));
    const temporary = path.join(directory, '.tmp');
    for (const name of ['crashed', 'running']) await writeFile(path.join(temporary, name), 'half');
    const longAgo = new Date(Date.now() - 3_700_000);
    await utimes(path.join(temporary, 'crashed'), longAgo, longAgo);
    const reopened = await openDiskObjects({ directory });
    expect(await readdir(temporary)).toEqual(['running']);
    expect(await reopened.head('kept/one')).toEqual({ sizeBytes: 1 });
  });

  test('deletes and failed writes leave no empty folders and no temporary files', async () => {
    const root = path.join(directory, 'tidy');
    const objects = await openDiskObjects({ directory: root });
    await objects.put('a/b/c/d', Buffer.from('x'));
    await objects.put('a/e', Buffer.from('x'));
    await objects.delete('a/b/c/d');
    expect((await readdir(root, { recursive: true })).sort()).toEqual(['.tmp', 'a', 'a/e']);
    await objects.deletePrefix('a/');
    await expect(objects.put('once/x', Buffer.from('1'), { ifAbsent: true })).resolves.toBeDefined();
    await expect(objects.put('once/x', Buffer.from('2'), { ifAbsent: true })).rejects.toBeDefined();
    await objects.delete('once/x');
    expect(await readdir(root, { recursive: true })).toEqual(['.tmp']);
  });

  test('the key is the path below the directory', async () => {
    const objects = await openDiskObjects({ directory });
    await objects.put('documents/org_1/doc_1/original', Buffer.from('bytes'));
    expect(await readFile(path.join(directory, 'documents/org_1/doc_1/original'), 'utf8')).toBe('bytes');
  });

  test('a file on another file system is adopted', async ({ skip }) => {
    const elsewhere = '/dev/shm';
    const [here, there] = await Promise.all([statfs(directory), statfs(elsewhere).catch(() => null)]);
    if (there === null || here.type === there.type) skip('there is no second file system here');
    const other = await mkdtemp(path.join(elsewhere, 'service-test-'));
    const objects = await openDiskObjects({ directory });
    const file = path.join(other, 'upload');
    await writeFile(file, 'from afar');
    const sha256 = createHash('sha256').update('from afar').digest('hex');
    expect(await objects.adopt(file, 'adopted/far')).toEqual({ sizeBytes: 9, sha256 });
    expect(await readdir(other)).toEqual([]);
    await rm(other, { recursive: true });
  });

  test('a full disk is a typed error that leaves no partial file, and ends when space is freed', async ({ skip }) => {
    const small = path.join(directory, 'small');
    await mkdir(small);
    const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small]).catch(() => null);
    if (mounted === null) skip('mounting a small file system takes root');
    try {
      const objects = await openDiskObjects({ directory: small });
      await objects.put('fill/a', Buffer.alloc(1_200_000));
      const full = { code: 'storage_full', status: 503, retryable: true };
      await expect(objects.put('fill/b', Buffer.alloc(1_200_000))).rejects.toMatchObject(full);
      await expect(objects.put('fill/a', Buffer.alloc(1_300_000))).rejects.toMatchObject(full);
      expect((await readdir(small, { recursive: true })).sort()).toEqual(['.tmp', 'fill', 'fill/a']);
      expect(await objects.head('fill/a')).toEqual({ sizeBytes: 1_200_000 });
      await objects.delete('fill/a');
      await objects.put('fill/b', Buffer.alloc(1_200_000));
      const threads = openThreads();
      const together = await openDiskObjects({ directory: small, threads });
      const many = ['many/a', 'many/b'].map((key) => ({ key, bytes: new Uint8Array(500_000) }));
      await expect(together.putMany(many).finally(() => threads.close())).rejects.toMatchObject(full);
      expect((await readdir(small, { recursive: true })).sort()).toEqual(['.tmp', 'fill', 'fill/b']);
    } finally {
      await run('umount', [small]);
    }
  });

  test('many small files are those of one write each: in their folders, readable by their owner only', async () => {
    const root = path.join(directory, 'together');
    const threads = openThreads();
    const objects = await openDiskObjects({ directory: root, threads });
    const keys = Array.from({ length: 30 }, (_, nth) => `many/${nth % 3}/${nth}`);
    await objects.putMany(keys.map((key) => ({ key, bytes: Buffer.from(key) })));
    await objects.putMany([{ key: 'many/0/0', bytes: Buffer.from('replaced') }]);
    await expect(objects.putMany([{ key: 'many/1', bytes: Buffer.from('x') }])).rejects.toBeDefined();
    await expect(objects.putMany([{ key: 'many/0/0/below', bytes: Buffer.from('x') }])).rejects.toBeDefined();
    const client = new AbortController();
    const aborted = objects.putMany([{ key: 'many/late', bytes: Buffer.from('x') }], { signal: client.signal });
    client.abort(new Error('the client is gone'));
    await expect(aborted).rejects.toThrow('the client is gone');
    await threads.close();
    expect(await readdir(path.join(root, '.tmp'))).toEqual([]);
    expect(await readFile(path.join(root, 'many/0/0'), 'utf8')).toBe('replaced');
    expect(await readFile(path.join(root, 'many/2/29'), 'utf8')).toBe('many/2/29');
    expect((await stat(path.join(root, 'many/2/29'))).mode & 0o777).toBe(0o600);
    expect((await stat(path.join(root, 'many/2'))).mode & 0o777).toBe(0o700);
  });

  test('an object where the directory of another should be is refused, not overwritten', async () => {
    const objects = await openDiskObjects({ directory });
    await objects.put('clash/a', Buffer.from('a'));
    await expect(objects.put('clash/a/b', Buffer.from('b'))).rejects.toBeDefined();
    await expect(objects.put('clash/a/b', Buffer.from('b'), { ifAbsent: true })).rejects.not.toMatchObject({
      code: 'object_exists',
    });
    await mkdir(path.join(directory, 'clash/c'));
    await expect(objects.put('clash/c', Buffer.from('c'))).rejects.toBeDefined();
    expect(Buffer.from(await objects.get('clash/a')).toString()).toBe('a');
  });
});
