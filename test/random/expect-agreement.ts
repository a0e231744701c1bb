import { expect } from 'vitest';
import type { TestMilvus } from '../support/milvus.ts';
import { createTestRandom } from '../support/random.ts';
import { drawSteps } from './operations.ts';
import { runSteps } from './run-steps.ts';

const KILL_EVERY = 15;

/**
 * Run random operations on an installation, and expect the state that some order of them leads to.
 *
 * @param milvus second engine of the index, between which buckets move; null for none
 */
export async function expectAgreement(steps: number, milvus: TestMilvus | null = null): Promise<void> {
  const hasEngines = milvus !== null;
  const random = createTestRandom(hasEngines ? 'random moves' : 'random operations');
  const result = await runSteps(drawSteps(random, steps, { killEvery: KILL_EVERY, hasEngines }), milvus);
  expect(result.mismatch === null ? null : `step ${result.mismatch.step}: ${result.mismatch.message}`).toBeNull();
  expect(result.documents).toBeGreaterThan(0);
}
