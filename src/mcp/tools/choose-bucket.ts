import { z } from 'zod';
import { invalidRequest } from '../../platform/errors.ts';

/** Name or id of a bucket, as a tool argument. */
export const BucketName = z.string().min(1).max(128);

/**
 * Choose the bucket of a search: the named one, else the default. `collection` is an old name of the argument `bucket`.
 * @throws AppError `arguments_conflict` (400) for two different buckets
 */
export function chooseBucket(
  args: { readonly bucket?: string | undefined; readonly collection?: string | undefined },
  defaultBucket: string,
): string {
  const { bucket, collection } = args;
  if (bucket !== undefined && collection !== undefined && bucket !== collection) {
    throw invalidRequest(
      `bucket and collection: "collection" is the old name of "bucket", and they differ ("${bucket}", "${collection}"); give "bucket" alone`,
      'collection',
      'arguments_conflict',
    );
  }
  return bucket ?? collection ?? defaultBucket;
}
