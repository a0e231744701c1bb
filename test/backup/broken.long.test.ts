import { test } from 'vitest';
import { checkBrokenBackups } from './broken.ts';

test('a backup that is broken at any of 40 random places is refused with the name of the broken file', async () => {
  await checkBrokenBackups(40, 5);
});
