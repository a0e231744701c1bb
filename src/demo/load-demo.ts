import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Caller, requireScope } from '../access/caller.ts';
import { createBucket, deleteBucket, findBucket } from '../documents/buckets.ts';
import { BucketPolicy } from '../documents/schema.ts';
import { UploadRequest } from '../ingest/schema.ts';
import { type UploadContext, uploadDocument } from '../ingest/upload.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { DEMO_BUCKET, DEMO_FOLDER, listDemoPaths } from './demo.ts';
import { countOtherDocuments, selectPaths } from './demo-store.ts';

/** Create the bucket of the sample documents unless it exists. @returns its id */
export async function ensureDemoBucket(sql: Sql, by: Caller): Promise<string> {
  try {
    return (await createBucket(sql, by, { name: DEMO_BUCKET, policy: BucketPolicy.parse({}) })).id;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'bucket_exists') throw error;
    return (await findBucket(sql, by, DEMO_BUCKET)).id;
  }
}

/**
 * Upload the sample documents that the bucket lacks. Jobs make them searchable afterwards.
 *
 * @throws AppError `scope_missing` (403) without `documents:write`, and those of `uploadDocument`
 */
export async function loadDemo(context: UploadContext, by: Caller): Promise<{ bucketId: string; documents: number }> {
  requireScope(by, 'documents:write');
  const bucketId = await ensureDemoBucket(context.sql, by);
  const paths = await listDemoPaths();
  const known = await selectPaths(context.sql, by.orgId, bucketId, paths);
  for (const each of paths.filter((path) => !known.has(path))) {
    const content = {
      bytes: await readFile(path.join(DEMO_FOLDER, each)),
      fileName: path.basename(each),
      contentType: null,
    };
    await uploadDocument(context, by, bucketId, content, UploadRequest.parse({ source_path: each }));
  }
  return { bucketId, documents: paths.length };
}

/**
 * Delete the bucket of the sample documents, under the rules of `deleteBucket`.
 *
 * @throws AppError `demo_bucket_in_use` (409) if it has other documents, and those of `deleteBucket`
 */
export async function removeDemo(sql: Sql, by: Caller): Promise<string> {
  const bucket = await findBucket(sql, by, DEMO_BUCKET);
  const others = await countOtherDocuments(sql, by.orgId, bucket.id, await listDemoPaths());
  if (others > 0) {
    throw new AppError({
      code: 'demo_bucket_in_use',
      status: 409,
      message: `the bucket "${DEMO_BUCKET}" has documents of your own (${others}); move them, or delete the bucket`,
    });
  }
  return deleteBucket(sql, by, bucket.id, DEMO_BUCKET);
}
