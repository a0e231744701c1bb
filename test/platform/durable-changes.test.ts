import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type DurableChange, DurableChanges } from '../../src/platform/objects/durable-changes.ts';
import { DurableWriter } from '../../src/platform/objects/durable-writer.ts';
import type { Syncfs } from '../../src/platform/objects/syncfs.ts';

const COUNT = 20;

let root: string;
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'service-test-changes-'));
  mkdirSync(path.join(root, '.tmp'));
});
afterEach(() => rmSync(root, { recursive: true }));

const temporary = (name: string) => path.join(root, '.tmp', name);
const inRoot = (name: string) => path.join(root, name);

function write(name: string, content: string | null = name, ifAbsent = false): DurableChange {
  const bytes = content === null ? null : new TextEncoder().encode(content);
  const file = { temporary: temporary(name.replaceAll('/', '.')), target: inRoot(name), bytes };
  return { kind: 'write', files: [file], ifAbsent };
}

function manyWrites(): DurableChange[] {
  return Array.from({ length: COUNT }, (_, nth) => write(`in/${nth}/file`));
}

/** Flush of the file system that counts what was in place at each of its calls. */
function counting(): { load: () => Syncfs; placed: number[] } {
  const placed: number[] = [];
  const countPlaced = () => manyWrites().filter((_, nth) => existsSync(inRoot(`in/${nth}/file`))).length;
  return { load: () => () => void placed.push(countPlaced()), placed };
}

it('files that are written together are flushed by one call before they are moved, and their folders by one after it', () => {
  const { load, placed } = counting();
  const made = new DurableChanges(root, load).make(manyWrites());
  expect(placed).toEqual([0, COUNT]);
  for (const [nth, { fault, sha256 }] of made.entries()) {
    expect(fault).toBeNull();
    expect(readFileSync(inRoot(`in/${nth}/file`), 'utf8')).toBe(`in/${nth}/file`);
    expect(sha256).toEqual([createHash('sha256').update(`in/${nth}/file`).digest('hex')]);
  }
  expect(readdirSync(inRoot('.tmp'))).toEqual([]);
});

it.each([
  ['cannot be loaded', () => raise('no such function')],
  ['does not exist', () => null],
  ['fails', () => () => raise('an error of the disk')],
])('every file is flushed by itself where the flush of the file system %s', (_, load) => {
  const made = new DurableChanges(root, load).make(manyWrites());
  expect(made.filter(({ fault }) => fault !== null)).toEqual([]);
  expect(readdirSync(inRoot('in'))).toHaveLength(COUNT);
});

it('a change that fails leaves no temporary file, and the others are made', () => {
  writeFileSync(inRoot('taken'), 'a file, not a folder');
  const changes = [
    write('taken/below'),
    ...manyWrites(),
    write('taken', 'new', true),
    write('absent', 'new', true),
    write('nothing', null),
  ];
  const faults = new DurableChanges(root).make(changes).map(({ fault }) => fault && [fault.code, fault.syscall]);
  const middle = manyWrites().map(() => null);
  expect(faults).toEqual([['ENOTDIR', 'rename'], ...middle, ['EEXIST', 'link'], null, ['ENOENT', 'rename']]);
  expect(readFileSync(inRoot('taken'), 'utf8')).toBe('a file, not a folder');
  expect(readFileSync(inRoot('absent'), 'utf8')).toBe('new');
  expect(readdirSync(inRoot('.tmp'))).toEqual([]);
});

it('a removal takes the folders that it left empty, and no others', () => {
  const changes = new DurableChanges(root);
  changes.make([write('a/b/c/file'), write('a/kept')]);
  rmSync(inRoot('a/b/c/file'));
  const removals = ['a/b/c', 'a/b/missing'].map(
    (folder): DurableChange => ({ kind: 'removal', folder: inRoot(folder) }),
  );
  expect(changes.make(removals).map(({ fault }) => fault)).toEqual([null, null]);
  expect(readdirSync(root, { recursive: true }).sort()).toEqual(['.tmp', 'a', 'a/kept']);
});

it('a writer makes changes in progress together, and starts another thread after the first has ended', async () => {
  const writer = new DurableWriter(root);
  const hashes = await Promise.all(manyWrites().map((change) => writer.make(change)));
  expect(new Set(hashes.flat()).size).toBe(COUNT);
  await expect(writer.make(write('nothing', null))).rejects.toMatchObject({ code: 'ENOENT', syscall: 'rename' });
  const cut = writer.make(write('cut'));
  const ended = writer.close();
  await cut.catch((error) => expect(error).toMatchObject({ code: 'objects_unavailable', retryable: true }));
  await ended;
  await writer.make(write('later'));
  expect(readFileSync(inRoot('later'), 'utf8')).toBe('later');
  await writer.close();
});

function raise(message: string): never {
  throw new Error(message);
}
