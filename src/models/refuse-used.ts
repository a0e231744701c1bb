import { conflict } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectBucketsOfModels } from './model-use-store.ts';

/**
 * Refuse to remove models that buckets use, since uploads would fail and vectors couldn't be searched.
 * @param what noun for the removed thing, for the message
 * @throws AppError `model_in_use` (409), which names the buckets
 */
export async function refuseUsedModels(sql: Sql, models: readonly string[], what: string): Promise<void> {
  const buckets = await selectBucketsOfModels(sql, models);
  if (buckets.length === 0) return;
  throw conflict(
    `${what} is used by the ${buckets.length === 1 ? 'bucket' : 'buckets'} ${buckets.join(', ')}; embed them with another model first (service index reembed --bucket NAME --model MODEL)`,
    'model_in_use',
  );
}
