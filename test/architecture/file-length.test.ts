import { glob, readFile } from 'node:fs/promises';
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
