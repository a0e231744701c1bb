import type { Caller } from '../../access/caller.ts';
import { findBucket } from '../../documents/buckets.ts';
import type { Engine } from '../../documents/schema.ts';
import { engineOf } from '../../index/engines.ts';
import { getIndexTable, selectLiveGroups } from '../../index/index-store.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { ReindexPlan } from './plan.ts';
import { planRebuild } from './plan-rebuild.ts';

export interface MoveRequest {
  /** Name or id. */
  readonly bucket: string;
  /** New engine of the index. */
  readonly engine: Engine;
}

/** Plan to move a bucket's index to another engine. */
export interface MovePlan extends ReindexPlan {
  readonly engine: Engine;
  /** Current engine of the index. */
  readonly from: Engine;
}

/**
 * Plan to rebuild a bucket's index in another engine from the unchanged stored vectors. There is nothing to do if the
 * index is already there or nothing was indexed yet.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function planMove(
  sql: Sql,
  caller: Pick<Caller, 'orgId'>,
  { bucket: ref, engine }: MoveRequest,
): Promise<MovePlan> {
  const bucket = await findBucket(sql, caller, ref);
  const own = await getIndexTable(sql, bucket.id);
  const from = own === null ? bucket.engine : engineOf(own.name);
  if (own !== null && from !== engine) return { ...(await planRebuild(sql, caller, bucket.id)), engine, from };
  const groups = await selectLiveGroups(sql, caller.orgId, bucket.id);
  return {
    kind: 'rebuild',
    bucketId: bucket.id,
    bucketName: bucket.name,
    mode: 'nothing',
    origin: own?.origin ?? null,
    sourceOf: () => 'keep',
    mapOf: () => null,
    embedder: null,
    documents: groups.reduce((sum, { documents }) => sum + documents, 0),
    chunks: groups.reduce((sum, { chunks }) => sum + chunks, 0),
    warnings: [],
    engine,
    from,
  };
}
