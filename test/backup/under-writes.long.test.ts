import { expect, test } from 'vitest';
import { checkBackupUnderWrites } from './under-writes.ts';

test('a backup made under writes is restored elsewhere with the same searches, usage and jobs', async () => {
  expect(await checkBackupUnderWrites(80)).toMatchObject({ documents: 80 });
});
