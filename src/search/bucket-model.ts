import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { findBucket, listBuckets } from '../documents/buckets.ts';
import { BucketView } from '../documents/schema.ts';
import { countInBucket } from '../documents/store.ts';
import type { Backends } from '../embedding/backends.ts';
import { findBucketOrigin, listBucketModels, selectBucketOrigins } from '../index/index-store.ts';
import type { Sql } from '../platform/postgres.ts';

/** Bucket with the model of its vectors. */
export const BucketDetails = BucketView.extend({
  embedding: z
    .object({
      model: z.string().describe('model of queries and uploads of the bucket, regardless of the routing'),
      revision: z.string().nullable(),
      space: z.string().describe('latent space of the vectors'),
      chunks: z.int().describe('chunks that the caller may find'),
    })
    .nullable()
    .describe('null: the bucket has no vectors; its first document is embedded by the model of the routing'),
  words_only_chunks: z
    .int()
    .describe('chunks that only keyword search finds until a model of this host has computed their vectors'),
}).meta({ id: 'BucketDetails' });
export type BucketDetails = z.output<typeof BucketDetails>;

/**
 * Read a bucket by id or name, as the caller sees it, with the model of its vectors.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function getBucketDetails(sql: Sql, caller: Caller, ref: string): Promise<BucketDetails> {
  const bucket = await findBucket(sql, caller, ref);
  const [origin, { documents, chunks, chunksByWords }] = await Promise.all([
    findBucketOrigin(sql, bucket.id),
    countInBucket(sql, caller, bucket.id),
  ]);
  return {
    ...bucket,
    document_count: documents,
    embedding: origin && { ...origin, chunks },
    words_only_chunks: chunksByWords,
  };
}

/** Bucket in a list, with the model of its vectors. */
export const ListedBucket = BucketView.extend({
  embedding: z
    .object({ model: z.string(), space: z.string() })
    .nullable()
    .describe('null: the bucket has no vectors; its first document is embedded by the model of the routing'),
}).meta({ id: 'ListedBucket' });
export type ListedBucket = z.output<typeof ListedBucket>;

/** List the buckets of an organization by name with their models, one page at a time. */
export async function listBucketsWithModels(
  sql: Sql,
  caller: Caller,
  page: Parameters<typeof listBuckets>[2],
): Promise<ListedBucket[]> {
  const buckets = await listBuckets(sql, caller, page);
  const ids = buckets.map(({ id }) => id);
  const origins = await selectBucketOrigins(sql, ids);
  return buckets.map((bucket) => {
    const origin = origins.get(bucket.id);
    return { ...bucket, embedding: origin ? { model: origin.model, space: origin.space } : null };
  });
}

/** Maximum number of buckets named in one warning. */
const NAMED_BUCKETS_MAX = 20;

/**
 * Describe the buckets whose model differs from the organization's routing. For each, give the number of chunks that
 * the caller may find and the command that moves it.
 */
export async function warnOfOtherModels(
  { sql, backends }: { sql: Sql; backends: Backends },
  caller: Caller,
  primary: string,
): Promise<string[]> {
  const model = backends.catalog.get(primary);
  if (!model) return [];
  const ids = new Set([primary, ...backends.indexModelsOf(model).models.map(({ id }) => id)]);
  const others = (await listBucketModels(sql, caller.orgId)).filter((bucket) => !ids.has(bucket.model));
  const warnings: string[] = [];
  for (const { id, name, model: own } of others.slice(0, NAMED_BUCKETS_MAX)) {
    const { chunks } = await countInBucket(sql, caller, id);
    const amount = `${chunks} ${chunks === 1 ? 'chunk' : 'chunks'}`;
    warnings.push(
      `bucket ${name} stays with ${own} (${amount}); run "service index reembed --bucket ${name}" to move it`,
    );
  }
  const rest = others.length - warnings.length;
  if (rest > 0) warnings.push(`${rest} more buckets stay with other models; "service index stats" lists them`);
  return warnings;
}
