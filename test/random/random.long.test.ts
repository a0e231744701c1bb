import { it } from 'vitest';
import { expectAgreement } from './expect-agreement.ts';

it('the installation agrees with concurrent uploads, edits, deletions, cancels and crashes in some order of them', async () => {
  await expectAgreement(50);
});
