import type { Caller } from '../../access/caller.ts';
import { findBucket } from '../../documents/buckets.ts';
import { getIndexTable, selectLiveGroups } from '../../index/index-store.ts';
import { conflict } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { KEYWORD_ONLY } from '../../projection/projections.ts';
import type { ReindexPlan } from './plan.ts';

/**
 * Plan to rebuild a bucket's index from the unchanged stored vectors.
 * @throws AppError `bucket_not_found` (404), `index_empty` (409): nothing was ever indexed
 */
export async function planRebuild(sql: Sql, caller: Pick<Caller, 'orgId'>, bucketRef: string): Promise<ReindexPlan> {
  const bucket = await findBucket(sql, caller, bucketRef);
  const own = await getIndexTable(sql, bucket.id);
  if (own === null) throw conflict('nothing was indexed in this bucket yet', 'index_empty');
  const { origin } = own;
  const groups = await selectLiveGroups(sql, caller.orgId, bucket.id);
  return {
    kind: 'rebuild',
    bucketId: bucket.id,
    bucketName: bucket.name,
    mode: 'new_table',
    origin,
    // Without an origin, no document has vectors, and the next vectors to arrive determine the index's space.
    sourceOf: ({ space }) => (origin === null || space === origin.space || space === KEYWORD_ONLY ? 'keep' : 'refuse'),
    mapOf: () => null,
    embedder: null,
    documents: groups.reduce((sum, { documents }) => sum + documents, 0),
    chunks: groups.reduce((sum, { chunks }) => sum + chunks, 0),
    warnings: [],
  };
}
