import type { Caller } from '../../access/caller.ts';
import { findBucket } from '../../documents/buckets.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { getIndexTable, type LiveGroup, selectLiveGroups, type VectorFacts } from '../../index/index-store.ts';
import { LEXICAL_ID, type Model } from '../../models/catalog.ts';
import { AppError, conflict, invalidRequest } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { type ActiveMap, KEYWORD_ONLY, type Projections } from '../../projection/projections.ts';
import type { ReindexPlan, VectorSource } from './plan.ts';

export interface PlanContext {
  readonly sql: Sql;
  readonly projections: Projections;
  /** Find a model by id. @throws AppError `unknown_model` */
  readonly findModel: (id: string) => Model;
}

export interface ReprojectRequest {
  /** Name or id of the bucket. */
  readonly bucket: string;
  /** Models whose documents to reproject; all models of the bucket if it changes its space. */
  readonly models: readonly string[];
}

/** Model whose documents are reprojected. Its map fits only native vectors of this revision and length. */
export interface TargetModel {
  readonly id: string;
  readonly revision: string;
  readonly nativeDimension: number;
  readonly mapVersion: number;
  readonly map: ActiveMap;
}

export interface ReprojectPlan extends ReindexPlan {
  readonly origin: VectorOrigin;
  readonly targets: readonly TargetModel[];
}

/**
 * Plan to reproject the vectors of a bucket.
 * @throws AppError `bucket_not_found` (404), `unknown_model`, `not_projectable` (400), `map_missing`,
 *   `cannot_reproject` (409) naming the documents that prevent it and the remedy
 */
export async function planReprojection(
  context: PlanContext,
  caller: Pick<Caller, 'orgId'>,
  request: ReprojectRequest,
): Promise<ReprojectPlan> {
  const bucket = await findBucket(context.sql, caller, request.bucket);
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
  const held = (await getIndexTable(context.sql, bucket.id))?.origin ?? null;
  const moves = held !== null && held.space !== space && groups.length > 0;
  const judged = groups.map((group) => ({ ...group, verdict: judge(group, targets, space, moves) }));
  if (moves) refuseObstacles(bucket.name, held.space, judged, targets);
  const due = judged.filter(({ verdict }) => verdict === 'due');
  const main = targets.find(({ id }) => id === held?.model) ?? first;
  return {
    kind: 'reproject',
    bucketId: bucket.id,
    bucketName: bucket.name,
    targets,
    embedder: null,
    mode: due.length === 0 ? 'nothing' : moves ? 'new_table' : 'in_place',
    origin: moves || held === null ? { model: main.id, revision: main.revision, space } : held,
    sourceOf: (facts) => sourceOf(judge(facts, targets, space, moves), moves),
    mapOf: (id) => targets.find((target) => target.id === id)?.map ?? null,
    documents: due.reduce((sum, { documents }) => sum + documents, 0),
    chunks: due.reduce((sum, { chunks }) => sum + chunks, 0),
    warnings: judged
      .filter(({ verdict }) => verdict === 'no_native' || verdict === 'other_revision')
      .map((group) => `${describe(group)} will not be changed: ${whyNot(group, targets)}; reprocess them`),
  };
}

function sourceOf(verdict: Verdict, moves: boolean): VectorSource {
  if (verdict === 'due') return 'project';
  if (verdict === 'done') return moves ? 'keep' : 'skip';
  return moves ? 'refuse' : 'skip';
}

function targetOf({ projections, findModel }: PlanContext, id: string): TargetModel {
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

function judge(facts: VectorFacts, targets: readonly TargetModel[], space: string, moves: boolean): Verdict {
  // Keyword search finds this document until its job embeds it.
  if (facts.space === KEYWORD_ONLY) return 'done';
  const target = targets.find(({ id }) => id === facts.model);
  if (!target) return moves ? 'other_model' : 'done';
  if (facts.space === space && facts.mapVersion === target.mapVersion) return 'done';
  if (facts.nativeDimension === null) return 'no_native';
  return facts.revision === target.revision && facts.nativeDimension === target.nativeDimension
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
  const obstacles = groups.filter(({ verdict }) => verdict !== 'due' && verdict !== 'done');
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
  if (model === LEXICAL_ID) return 'a lexical model keeps no native vectors; run "service index reembed" instead';
  if (verdict === 'other_model') {
    return `name this model with --model too (run "service projections fit --model ${model}" first if it has no map)`;
  }
  return `${whyNot(group, targets)}; run "service index reembed" instead`;
}

function whyNot({ model, revision, verdict }: Judged, targets: readonly TargetModel[]): string {
  if (verdict === 'no_native') return 'no native vectors are stored with them';
  const target = targets.find(({ id }) => id === model);
  return `they were embedded by revision ${revision}, but the map is for revision ${target?.revision}`;
}
