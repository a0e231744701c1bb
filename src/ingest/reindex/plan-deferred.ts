import type { Caller } from '../../access/caller.ts';
import { findBucket } from '../../documents/buckets.ts';
import { chooseIndexModel } from '../../embedding/model-choice.ts';
import { findBucketOrigin, selectLiveGroups } from '../../index/index-store.ts';
import { KEYWORD_ONLY, spaceOf } from '../../projection/projections.ts';
import type { ReindexPlan } from './plan.ts';
import type { ReembedContext } from './plan-reembed.ts';

/**
 * Limits for a slow model: chunks whose vectors become searchable together (some seconds), and chunks per job (some
 * minutes).
 */
const BOUNDS = { batchChunks: 128, chunks: 2_048 } as const;

/**
 * Plan to compute the missing vectors of a bucket's documents, as many as a single job may. The rows go into the
 * bucket's own table, and vector search finds each batch as soon as it is written.
 *
 * @throws AppError `bucket_not_found` (404), `not_comparable` (409): no model makes vectors like those of the bucket
 */
export async function planDeferred(
  { sql, backends, projections, routing }: ReembedContext,
  caller: Pick<Caller, 'orgId'>,
  bucketId: string,
): Promise<ReindexPlan> {
  const bucket = await findBucket(sql, caller, bucketId);
  const held = await findBucketOrigin(sql, bucket.id);
  const embedder = chooseIndexModel(backends, await routing.of(caller.orgId), held);
  const [first] = backends.indexModelsOf(embedder).models;
  if (first === undefined) throw new Error('no model embeds');
  const groups = (await selectLiveGroups(sql, caller.orgId, bucket.id)).filter(({ space }) => space === KEYWORD_ONLY);
  const revision = embedder.kind === 'alias' ? null : embedder.revision;
  return {
    kind: 'reembed',
    bucketId: bucket.id,
    bucketName: bucket.name,
    mode: groups.length === 0 ? 'nothing' : 'in_place',
    origin: held ?? { model: embedder.id, revision, space: spaceOf(projections, first) },
    sourceOf: ({ space }) => (space === KEYWORD_ONLY ? 'embed' : 'skip'),
    mapOf: (id) => projections.mapOf(backends.catalog.find(id)),
    embedder,
    documents: groups.reduce((sum, group) => sum + group.documents, 0),
    chunks: Math.min(
      BOUNDS.chunks,
      groups.reduce((sum, group) => sum + group.chunks, 0),
    ),
    bounds: BOUNDS,
    warnings: [],
  };
}
