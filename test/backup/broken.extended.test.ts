import { test } from 'vitest';
import { checkBrokenBackups } from './broken.ts';

test('a backup that is broken at any of 200 random places is refused with the name of the broken file', async () => {
  await checkBrokenBackups(200, 200);
});
