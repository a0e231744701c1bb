import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collectFiles } from '../../src/cli/collect-files.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'collect-'));
  chmodSync(folder, 0o755);
  mkdirSync(path.join(folder, 'sub', 'deep'), { recursive: true });
  mkdirSync(path.join(folder, '.git'));
  for (const name of ['b.txt', 'a.md', '.env', '.git/config', 'sub/c.txt', 'sub/deep/d.txt']) {
    writeFileSync(path.join(folder, name), name);
  }
  symlinkSync(path.join(folder, 'a.md'), path.join(folder, 'link.md'));
  symlinkSync(path.join(folder, 'sub'), path.join(folder, 'link-to-folder'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('a folder stands for the files directly in it', async () => {
  const { files, skipped, unreadable } = await collectFiles([folder], { recursive: false });
  expect(files).toEqual([
    { path: path.join(folder, 'a.md'), sourcePath: 'a.md' },
    { path: path.join(folder, 'b.txt'), sourcePath: 'b.txt' },
  ]);
  expect(skipped.map((entry) => [path.basename(entry.path), entry.reason])).toEqual([
    ['.env', 'hidden'],
    ['.git', 'hidden'],
    ['link-to-folder', 'link'],
    ['link.md', 'link'],
    ['sub', 'folder'],
  ]);
  expect(unreadable).toEqual([]);
});

test('with recursive a folder stands for all files below it, with paths relative to the named folder', async () => {
  const { files } = await collectFiles([folder], { recursive: true });
  expect(files.map((file) => file.sourcePath)).toEqual(['a.md', 'b.txt', 'sub/c.txt', 'sub/deep/d.txt']);
});

test('a path that was named itself is included once, also if it is hidden or a link', async () => {
  const named = ['.env', 'link.md', 'a.md', '.env'].map((name) => path.join(folder, name));
  const { files } = await collectFiles(named, { recursive: false });
  expect(files.map((file) => file.sourcePath)).toEqual(['.env', 'link.md', 'a.md']);
});

test('a path that does not exist is an error before anything is read', async () => {
  await expect(collectFiles([folder, path.join(folder, 'gone')], { recursive: true })).rejects.toMatchObject({
    code: 'file_not_found',
    status: 404,
  });
});

test('a folder that cannot be read is reported, and the other files are collected', async () => {
  const closed = path.join(folder, 'sub');
  chmodSync(closed, 0);
  // Root can read everything, so another user reads.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) process.seteuid?.(65534);
  try {
    const { files, unreadable } = await collectFiles([folder], { recursive: true });
    expect(files.map((file) => file.sourcePath)).toEqual(['a.md', 'b.txt']);
    const error = expect.objectContaining({ code: 'EACCES' });
    expect(unreadable).toEqual([{ path: closed, sourcePath: 'sub', error }]);
  } finally {
    if (isRoot) process.seteuid?.(0);
    chmodSync(closed, 0o755);
  }
});
