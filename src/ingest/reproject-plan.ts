import type { Caller } from '../access/caller.ts';
import { findBucket } from '../documents/buckets.ts';
import { LEXICAL_ID, type Model } from '../models/catalog.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { ActiveMap, Projections } from '../projection/projections.ts';
import { getIndexTable, type LiveGroup, selectLiveGroups } from '../search/index-store.ts';
import type { TargetModel } from './reproject-store.ts';

export interface PlanContext {
  readonly sql: Sql;
  readonly projections: Projections;
  /** Finds the model of an id. @throws AppError `unknown_model` */
  readonly findModel: (id: string) => Model;
}

export interface ReprojectRequest {
  /** Name or id of the bucket. */
  readonly bucket: string;
  /** Models whose documents are reprojected; if the bucket changes its space, all models of its documents. */
  readonly models: readonly string[];
}

/** Plan of a reprojection. */
export interface ReprojectPlan {
  readonly bucketId: string;
  readonly bucketName: string;
  readonly targets: readonly (TargetModel & { readonly map: ActiveMap })[];
  /** Latent space of the maps. */
  readonly space: string;
  /**
   * Mode. `in_place`: the space stays, and each document is changed by itself. `new_table`: all documents are changed
   * at once, since vectors of two spaces cannot be in one table. `nothing`: no document has to be changed.
   */
  readonly mode: 'in_place' | 'new_table' | 'nothing';
  /** Number of documents to reproject. */
  readonly documents: number;
  readonly chunks: number;
  readonly warnings: readonly string[];
}

/**
 * Plan the reprojection of a bucket.
 *
 * @throws AppError `bucket_not_found` (404), `unknown_model`, `not_projectable` (400), `map_missing`,
 *   `cannot_reproject` (409) naming the documents that prevent it, and what to do about them
 */
export async function planReprojection(
  context: PlanContext,
  caller: Pick<Caller, 'orgId'>,
  request: ReprojectRequest,
): Promise<ReprojectPlan> {
  const bucket = await findBucket(context.sql, caller.orgId, request.bucket);
  const targets = [...new Set(request.models)].map((id) => targetOf(context, id));
  const [first] = targets;
  if (!first) throw invalidRequest('name at least one model', 'model');
  const { space } = first.map;
  const other = targets.find((target) => target.map.space !== space);
  if (other) {
    throw conflict(
      `the maps of ${first.id} (${space}) and ${other.id} (${other.map.space}) lead to different latent spaces; fit one of them again`,
      'cannot_reproject',
    );
  }
  const groups = await selectLiveGroups(context.sql, caller.orgId, bucket.id);
  const currentSpace = (await getIndexTable(context.sql, bucket.id))?.space ?? null;
  const moves = currentSpace !== null && currentSpace !== space && groups.length > 0;
  const judged = groups.map((group) => ({ ...group, verdict: verdictOf(group, targets, space, moves) }));
  if (moves) refuseObstacles(bucket.name, currentSpace, judged, targets);
  const due = judged.filter(({ verdict }) => verdict === 'due');
  return {
    ...{ bucketId: bucket.id, bucketName: bucket.name, targets, space },
    mode: due.length === 0 ? 'nothing' : moves ? 'new_table' : 'in_place',
    documents: due.reduce((sum, { documents }) => sum + documents, 0),
    chunks: due.reduce((sum, { chunks }) => sum + chunks, 0),
    warnings: judged
      .filter(({ verdict }) => verdict === 'no_native' || verdict === 'other_revision')
      .map((group) => `${describe(group)} will not be changed: ${whyNot(group, targets)}; reprocess them`),
  };
}

function targetOf({ projections, findModel }: PlanContext, id: string): ReprojectPlan['targets'][number] {
  const model = findModel(id);
  if (model.kind !== 'semantic') {
    const why =
      model.kind === 'alias'
        ? 'is an alias of other models; name those'
        : 'has no native vectors and no map; name a semantic model';
    throw invalidRequest(`${id} ${why}`, 'model', 'not_projectable');
  }
  const map = projections.mapOf(model);
  if (!map) {
    throw conflict(
      `${id} (revision ${model.revision}) has no map in use; run "service projections fit --model ${id}" first`,
      'map_missing',
    );
  }
  return { id, revision: model.revision, nativeDimension: model.nativeDimension, mapVersion: map.version, map };
}

type Verdict = 'due' | 'done' | 'other_model' | 'no_native' | 'other_revision';

function verdictOf(group: LiveGroup, targets: readonly TargetModel[], space: string, moves: boolean): Verdict {
  const target = targets.find(({ id }) => id === group.model);
  if (!target) return moves ? 'other_model' : 'done';
  if (!moves && group.space === space && group.mapVersion === target.mapVersion) return 'done';
  if (group.nativeDimension === null) return 'no_native';
  return group.revision === target.revision && group.nativeDimension === target.nativeDimension
    ? 'due'
    : 'other_revision';
}

type Judged = LiveGroup & { readonly verdict: Verdict };

function refuseObstacles(
  bucketName: string,
  currentSpace: string,
  groups: readonly Judged[],
  targets: readonly TargetModel[],
): void {
  const obstacles = groups.filter(({ verdict }) => verdict !== 'due');
  if (obstacles.length === 0) return;
  const lines = obstacles.map((group) => `  - ${describe(group)}: ${obstacleOf(group, targets)}`);
  throw new AppError({
    code: 'cannot_reproject',
    status: 409,
    message: `bucket ${bucketName} would leave the latent space ${currentSpace}, but these documents cannot be moved with it:\n${lines.join('\n')}`,
    details: { models: [...new Set(obstacles.map(({ model }) => model))] },
  });
}

function describe({ documents, model }: LiveGroup): string {
  return `${documents} ${documents === 1 ? 'document' : 'documents'} of ${model}`;
}

function obstacleOf(group: Judged, targets: readonly TargetModel[]): string {
  const { model, verdict } = group;
  if (model === LEXICAL_ID) return 'a lexical model has no native vectors; upload them again into a new bucket';
  if (verdict === 'other_model') {
    return `name this model with --model too (run "service projections fit --model ${model}" first if it has no map)`;
  }
  return `${whyNot(group, targets)}; delete them, run this again, and upload them again`;
}

function whyNot({ model, revision, verdict }: Judged, targets: readonly TargetModel[]): string {
  if (verdict === 'no_native') return 'no native vectors are stored with them';
  const target = targets.find(({ id }) => id === model);
  return `they were embedded by revision ${revision}, but the map is for revision ${target?.revision}`;
}
