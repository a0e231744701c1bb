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
  { config, sql, embedding, rerankers }: Pick<Appliance, 'config' | 'sql' | 'embedding' | 'rerankers'>,
  caller: Caller,
  limits: T,
): Promise<T> {
  if (!limits) return limits;
  const others = new Set([...rerankers.list.view().map(({ id }) => id), config.answers?.model]);
  const modelId = (name: string) => (others.has(name) ? name : embedding.backends.catalog.find(name).id);
  const bucketId = async (ref: string) => (await findBucket(sql, caller, ref)).id;
  return {
    ...limits,
    ...(limits.models && { models: limits.models.map(modelId) }),
    ...(limits.buckets && { buckets: await Promise.all(limits.buckets.map(bucketId)) }),
  };
}
