import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';

/** Lines of a source file; biome.json has the same limit for all that it checks. */
const LINES_MAX = 400;

test('no file of AssemblyScript, which the linter does not read, has more than 400 lines', async () => {
  const lengths: Record<string, number> = {};
  for await (const file of glob('src/**/*.as.ts')) {
    lengths[file] = (await readFile(file, 'utf8')).split('\n').length - 1;
  }
  expect(Object.keys(lengths)).toContain('src/resident/vectors/kernel/sketches.as.ts');
  expect(Object.entries(lengths).filter(([, lines]) => lines > LINES_MAX)).toEqual([]);
});

/** Bounds of the room of searches, which a newcomer reads as a whole: lines of all its files, and files of its root. */
const SEARCH = { folder: 'src/search', linesMax: 5_500, filesMax: 30 };

test('the search room stays small enough to read as a whole', async () => {
  let lines = 0;
  let rootFiles = 0;
  for await (const file of glob(`${SEARCH.folder}/**/*.ts`)) {
    lines += (await readFile(file, 'utf8')).split('\n').length - 1;
    if (path.dirname(file) === SEARCH.folder) rootFiles++;
  }
  expect(lines).toBeGreaterThan(1_000);
  expect(lines).toBeLessThanOrEqual(SEARCH.linesMax);
  expect(rootFiles).toBeLessThanOrEqual(SEARCH.filesMax);
});
