import { it } from 'vitest';
import { milvusAvailable, startMilvus } from '../support/milvus.ts';
import { expectAgreement } from './expect-agreement.ts';

it('the installation agrees with some order of a few concurrent uploads, edits, deletions and cancels', async () => {
  await expectAgreement(12);
});

it.skipIf(!milvusAvailable())(
  'the installation agrees while buckets move between engines, one of which is killed',
  async () => {
    const milvus = await startMilvus();
    try {
      await expectAgreement(12, milvus);
    } finally {
      await milvus.drop();
    }
  },
  300_000,
);
