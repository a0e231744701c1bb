import type { Caller } from '../access/caller.ts';
import type { KeyLimits } from '../access/key-limits.ts';
import { findBucket } from '../documents/store.ts';
import type { Appliance } from './appliance.ts';

/**
 * Replace the names of models and buckets in the limits of a key by their ids.
 *
 * @throws AppError `unknown_model` (400), `bucket_not_found` (404)
 */
export async function resolveKeyLimits<T extends KeyLimits | null | undefined>(
  { sql, embedding, rerankers }: Pick<Appliance, 'sql' | 'embedding' | 'rerankers'>,
  caller: Caller,
  limits: T,
): Promise<T> {
  if (!limits) return limits;
  const ofRerankers = new Set(rerankers.list.view().map(({ id }) => id));
  const modelId = (name: string) => (ofRerankers.has(name) ? name : embedding.backends.catalog.find(name).id);
  const bucketId = async (ref: string) => (await findBucket(sql, caller, ref)).id;
  return {
    ...limits,
    ...(limits.models && { models: limits.models.map(modelId) }),
    ...(limits.buckets && { buckets: await Promise.all(limits.buckets.map(bucketId)) }),
  };
}
