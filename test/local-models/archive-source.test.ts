import { createWriteStream } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import tar from 'tar-stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openArchive } from '../../src/local-models/install/archive-source.ts';

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'service-test-archive-'));
  file = path.join(folder, 'model.tar');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const open = () => openArchive(file, { dataDir: folder, signal: new AbortController().signal });

/** Write an archive of entries; one without a type is a file. */
async function writeArchive(entries: readonly (Partial<tar.Header> & { name: string; text?: string })[]) {
  const pack = tar.pack();
  for (const { text = '', ...header } of entries) pack.entry(header, text);
  pack.finalize();
  await pipeline(pack, createWriteStream(file));
}

async function leftFiles(): Promise<string[]> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  return names.filter((entry) => entry.isFile()).map(({ name }) => name);
}

test.each([
  ['a symbolic link', { name: 'm/config.json', type: 'symlink', linkname: '/etc/passwd' }],
  ['a hard link', { name: 'm/config.json', type: 'link', linkname: 'm/other' }],
  ['a device', { name: 'm/config.json', type: 'character-device' }],
  ['a path that leaves the folder', { name: 'm/../../config.json', text: '{}' }],
  ['an absolute path', { name: '/config.json', text: '{}' }],
] as const)('an archive with %s is refused, and nothing of it is kept', async (_what, entry) => {
  await writeArchive([{ name: 'm/tokenizer.json', text: '{}' }, entry]);
  await expect(open()).rejects.toMatchObject({ code: 'model_source_unsafe' });
  expect(await leftFiles()).toEqual(['model.tar']);
});

test('an archive is refused before a file is written for which the disk has no space', async () => {
  await writeArchive([{ name: 'm/config.json', text: '{}' }]);
  const options = { dataDir: folder, signal: new AbortController().signal };
  await expect(openArchive(file, { ...options, freeBytesMin: Number.MAX_SAFE_INTEGER })).rejects.toMatchObject({
    code: 'storage_full',
  });
  expect(await leftFiles()).toEqual(['model.tar']);
});

test('an archive of too many entries is refused', async () => {
  await writeArchive(Array.from({ length: 10_001 }, (_, nth) => ({ name: `m/${nth}.txt` })));
  await expect(open()).rejects.toMatchObject({ code: 'model_source_unsafe' });
});

test('bytes that are no archive, one that is cut off, and one that cannot be decompressed are refused', async () => {
  await writeFile(file, 'x'.repeat(2_000));
  await expect(open()).rejects.toMatchObject({ code: 'model_invalid' });
  await writeArchive([{ name: 'm/config.json', text: 'x'.repeat(5_000) }]);
  const bytes = await readFile(file);
  await writeFile(file, bytes.subarray(0, 3_000));
  await expect(open()).rejects.toMatchObject({ code: 'model_invalid' });
  const zipped = gzipSync(bytes);
  await writeFile(file, zipped.subarray(0, zipped.length - 20));
  await expect(open()).rejects.toMatchObject({
    code: 'model_invalid',
    message: expect.stringContaining('decompressed'),
  });
  expect(await leftFiles()).toEqual(['model.tar']);
});
