import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { CommitFiles } from '../../../src/search/commit-files.ts';
import { CommitWatch } from '../../../src/search/resident/commit-watch.ts';
import type { TableFiles } from '../../../src/search/resident/table-copy.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { until } from '../../support/until.ts';

const { dataDir, remove } = makeDataDir();
const files = new CommitFiles(dataDir);
let seen: string[] = [];
const watch = new CommitWatch();
afterEach(() => {
  watch.close();
  seen = [];
});
afterAll(remove);

function openTable(name: string): TableFiles {
  const own = files.of(name);
  mkdirSync(own.folder, { recursive: true });
  watch.add(name, { snapshot: '', ...own }, (version) => seen.push(`${name} ${version}`));
  return { snapshot: '', ...own };
}

/** Give a file its name once it is written, as the writer does. */
function save({ committed }: TableFiles, version: number): void {
  writeFileSync(`${committed(version)}.part`, 'rows');
  renameSync(`${committed(version)}.part`, committed(version));
}

it('each commit that has a file is told, and no other file', async () => {
  const [one, two] = [openTable('one'), openTable('two')];
  save(one, 7);
  writeFileSync(path.join(one.folder, 'commit-8.other'), '');
  save(two, 3);
  await until(async () => seen.length >= 2, { what: 'both commits' });
  save(one, 9);
  await until(async () => seen.length >= 3, { what: 'the commit after them' });
  expect([...new Set(seen)].toSorted()).toEqual(['one 7', 'one 9', 'two 3']);
});

it('a table that is not watched any more is not told of, and can be watched again', async () => {
  const [one, two] = [openTable('one'), openTable('two')];
  watch.remove('one');
  save(one, 10);
  save(two, 4);
  await until(async () => seen.length > 0, { what: 'the commit of the other table' });
  openTable('one');
  save(one, 11);
  await until(async () => seen.length > 1, { what: 'the commit after it is watched again' });
  expect(seen).toEqual(['two 4', 'one 11']);
});

it('a folder that is not there, or goes, is no error', async () => {
  watch.add('absent', { snapshot: '', ...files.of('absent') }, () => seen.push('absent'));
  const gone = openTable('gone');
  rmSync(gone.folder, { recursive: true });
  const one = openTable('one');
  save(one, 12);
  await until(async () => seen.length > 0, { what: 'the commit of another table' });
  expect(seen).toEqual(['one 12']);
});
