import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { FolderWatch } from '../../../src/memory/readers/folder-watch.ts';
import { makeFolder } from '../../support/memory.ts';
import { until } from '../../support/until.ts';

test.each([
  ['reports', 'data-public', true],
  ['does not report', 'data', false],
])('a watch %s changes below %s beside the data directory', async (_, name, reported) => {
  const { folder, remove } = makeFolder();
  const stop = new AbortController();
  const changed = { below: 0, beside: 0 };
  for (const each of [name, 'beside']) mkdirSync(path.join(folder, each));
  const open = (base: string, onChange: () => void) => {
    const place = { root: folder, base: path.join(folder, base), dataDir: path.join(folder, 'data') };
    return FolderWatch.open(place, onChange, stop.signal);
  };
  const below = await open(name, () => changed.below++);
  const beside = await open('beside', () => changed.beside++);
  try {
    writeFileSync(path.join(folder, name, 'new.txt'), 'new');
    writeFileSync(path.join(folder, 'beside', 'new.txt'), 'new');
    await until(async () => changed.beside > 0 && (changed.below > 0 || !reported), { what: 'the changes' });
    expect(changed.below > 0).toBe(reported);
  } finally {
    stop.abort();
    below.close();
    beside.close();
    remove();
  }
});
