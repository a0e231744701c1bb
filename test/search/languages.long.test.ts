import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { ingestSet, JUDGED_SETS, scoreSet } from '../support/judged-sets/score-set.ts';

/** Bound of the mean: one of ten queries whose answer is second lowers it by 0.037. */
const NDCG_MIN = 0.95;

let test: TestAppliance;
let worker: Service;
beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

describe.each(JUDGED_SETS)('judged passages: $language', (set) => {
  let idOf: Map<string, string>;
  beforeAll(async () => {
    idOf = await ingestSet(test.appliance, test.operator, set);
  });

  it(`searches by keywords and hybrid searches of ${set.language} passages rank the answers first`, async () => {
    for (const mode of ['keyword', 'hybrid'] as const) {
      const { ndcg, wrongFirst } = await scoreSet(test.appliance, test.operator, set, { mode, idOf });
      expect(wrongFirst).toEqual([]);
      expect(ndcg).toBeGreaterThanOrEqual(NDCG_MIN);
    }
  });
});
