import { it } from 'vitest';
import { expectAgreement } from './expect-agreement.ts';

it('the installation agrees with some order of a few concurrent uploads, edits, deletions and cancels', async () => {
  await expectAgreement(12);
});
