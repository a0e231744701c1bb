import { expect, test } from 'vitest';
import { scaled } from '../support/extended-scale.ts';
import { checkBackupUnderWrites } from './under-writes.ts';

const DOCUMENTS = scaled(10_000);

test(`a backup of ${DOCUMENTS} documents made under writes is restored elsewhere with the same searches, usage and jobs`, {
  timeout: 1_800_000,
}, async () => {
  const figures = await checkBackupUnderWrites(DOCUMENTS);
  process.stderr.write(`backup under writes: ${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ documents: DOCUMENTS });
});
