import { afterAll, beforeAll, describe } from 'vitest';
import { MilvusIndex } from '../../src/index/milvus/milvus-index.ts';
import { describeChunkIndex } from '../conformance/chunk-index.ts';
import { milvusAvailable, startMilvus, type TestMilvus } from '../support/milvus.ts';

const INSTALLATION = 'org_own';

describe.skipIf(!milvusAvailable())('Milvus', () => {
  let milvus: TestMilvus;
  let own: MilvusIndex;
  let other: MilvusIndex;
  beforeAll(async () => {
    milvus = await startMilvus();
    own = new MilvusIndex(milvus.settings, INSTALLATION);
    other = new MilvusIndex(milvus.settings, INSTALLATION);
  });
  afterAll(async () => {
    await other?.close();
    await own?.close();
    await milvus?.drop();
  });
  describeChunkIndex(() => ({ own, other }));
});
