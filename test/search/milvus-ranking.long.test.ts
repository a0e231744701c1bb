import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { ingestSet, JUDGED_SETS, MODES, scoreSet } from '../support/judged-sets/score-set.ts';
import { milvusAvailable, startMilvus, type TestMilvus } from '../support/milvus.ts';
import { moveBucket } from '../support/move-bucket.ts';

/** Most that a mean over the queries of a set differs between the engines. */
const NDCG_APART_MAX = 0.005;

describe.skipIf(!milvusAvailable())('rankings of both engines', () => {
  let milvus: TestMilvus;
  let test: TestAppliance;
  let worker: Service;
  beforeAll(async () => {
    milvus = await startMilvus();
    test = await openTestAppliance({ index: { milvus: { url: milvus.settings.url } } });
    worker = test.appliance.jobs.worker('ingest');
    await worker.start(new AbortController().signal);
  });
  afterAll(async () => {
    await worker?.stop();
    await test?.close();
    await milvus?.drop();
  });

  it.each(JUDGED_SETS)('Milvus ranks the $language passages as LanceDB does, in every mode', async (set) => {
    const { appliance, operator } = test;
    const idOf = await ingestSet(appliance, operator, set);
    const scoreAll = async () => {
      const scores = await Promise.all(MODES.map((mode) => scoreSet(appliance, operator, set, { mode, idOf })));
      return scores.map(({ ndcg }) => ndcg);
    };
    const onLance = await scoreAll();
    await moveBucket(appliance, operator, set.language.toLowerCase(), 'milvus');
    for (const [nth, ndcg] of (await scoreAll()).entries()) {
      expect(Math.abs(ndcg - (onLance[nth] as number)), MODES[nth]).toBeLessThanOrEqual(NDCG_APART_MAX);
    }
  });
});
