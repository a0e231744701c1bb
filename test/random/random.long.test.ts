import { it } from 'vitest';
import { milvusAvailable, startMilvus } from '../support/milvus.ts';
import { expectAgreement } from './expect-agreement.ts';

it('the installation agrees with concurrent uploads, edits, deletions, cancels and crashes in some order of them', async () => {
  await expectAgreement(50);
});

it.skipIf(!milvusAvailable())(
  'the installation agrees while buckets move between engines, and workers and one engine are killed',
  async () => {
    const milvus = await startMilvus();
    try {
      await expectAgreement(Number(process.env['MOVE_STEPS'] ?? 50), milvus);
    } finally {
      await milvus.drop();
    }
  },
  3_600_000,
);
