import { recordAudit } from '../access/audit.ts';
import type { Model } from '../models/catalog.ts';
import { countTokens } from '../models/tokens.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { pairsKey, readSpace, type StoredSpace, writeMap, writePairs, writeSpace } from './artifacts.ts';
import { type CalibrationText, type EmbedNative, embedCalibration, forgetCalibration } from './calibration.ts';
import { checkCorpus } from './fit/check-pairs.ts';
import type { Evaluation } from './fit/evaluate-map.ts';
import { centreRows, pickRows } from './fit/rows.ts';
import { shuffledIndices } from './fit/split-pairs.ts';
import type { FitOutcome, FitResult, FitTask } from './fit-on-thread.ts';
import { matmul } from './kernel/matmul.ts';
import { type FitMethod, type Grade, SPACE_DIMENSIONS, SPACE_ID, type SpaceRecord } from './schema.ts';
import { activateMap, insertMap, insertSpace, nextMapVersion, selectMaps, selectSpace } from './store.ts';

export interface ProjectionContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly logger: Logger;
  readonly embed: EmbedNative;
  /** The model of this id. @throws AppError `unknown_model` */
  readonly findModel: (id: string) => Model;
  /** @throws AppError `provider_unavailable` (502) where the model has no provider here */
  readonly requireServed: (model: Model) => void;
}

export interface FitRequest {
  readonly model: string;
  /** Make the space from this model, instead of mapping it into the one that is there. */
  readonly reference: boolean;
  /** Texts of the operator's own; null: those that the space was made from, or the built-in ones. */
  readonly corpus: readonly CalibrationText[] | null;
  readonly pairsMax: number;
  readonly method: FitMethod;
  readonly allowFewPairs: boolean;
  readonly activate: boolean;
  /** How the audit log names who does it. */
  readonly actor: string;
}

/** What a fit will do and cost, before it begins. */
export interface FitPlan {
  readonly model: Model;
  readonly texts: readonly CalibrationText[];
  readonly space: StoredSpace | null;
  /** Canonical vector of each text among those of the space; -1: the reference model must embed it, too. */
  readonly frozen: Int32Array;
  /** Texts that are sent, to the model and to the reference model. */
  readonly textsToEmbed: number;
  /** About how many tokens they have. */
  readonly tokens: number;
  /** About what that costs, by the operator's prices; 0 where none are set. */
  readonly cost: number;
}

export interface FitSummary {
  readonly model: string;
  readonly space: string;
  readonly map_version: number;
  readonly pairs: number;
  readonly scores: Evaluation;
  readonly grade: Grade;
  readonly active: boolean;
  readonly warnings: readonly string[];
}

const SAMPLE_SEED = 1;
const CANARIES = 32;

/**
 * Choose the texts of a fit.
 *
 * @throws AppError `not_fittable`, `too_few_pairs` (400), `space_exists`, `space_missing` (409), `artifact_corrupt` (500)
 */
export async function planFit(
  context: ProjectionContext,
  request: FitRequest,
  builtIn: () => readonly CalibrationText[],
): Promise<FitPlan> {
  const model = context.findModel(request.model);
  if (model.kind !== 'semantic') {
    const why =
      model.kind === 'alias'
        ? 'stands for other models; fit those'
        : 'knows words only and lives in a space of its own';
    throw invalidRequest(`${model.id} ${why}`, 'model', 'not_fittable');
  }
  context.requireServed(model);
  const record = await selectSpace(context.sql, SPACE_ID);
  if (request.reference && record) {
    throw conflict(
      `${SPACE_ID} was made from ${record.referenceModel} and is never made again; leave --reference out`,
      'space_exists',
    );
  }
  if (!request.reference && !record) {
    throw conflict(
      'there is no canonical space yet; fit the strongest multilingual model first, with --reference',
      'space_missing',
    );
  }
  const space = record ? await readSpace(context.objects, record) : null;
  const all = request.corpus ?? space?.texts ?? builtIn();
  const { kept } = checkCorpus(
    all.map(({ text }) => text),
    { allowFewPairs: request.allowFewPairs },
  );
  const chosen = sample(kept, request.pairsMax).map((index) => all[index] as CalibrationText);
  const places = new Map(space?.texts.map(({ text, kind }, index) => [`${kind}\n${text}`, index]));
  const frozen = Int32Array.from(chosen, ({ text, kind }) => places.get(`${kind}\n${text}`) ?? -1);
  const tokensOf = (texts: readonly CalibrationText[]) => texts.reduce((sum, { text }) => sum + countTokens(text), 0);
  const foreign = space ? chosen.filter((_, index) => (frozen[index] as number) < 0) : [];
  const tokens = tokensOf(chosen);
  const foreignTokens = tokensOf(foreign);
  const reference = record && foreign.length > 0 ? requireReference(context, record) : model;
  return {
    ...{ model, texts: chosen, space, frozen, textsToEmbed: chosen.length + foreign.length },
    tokens: tokens + foreignTokens,
    cost: (tokens * model.pricePerMillion + foreignTokens * reference.pricePerMillion) / 1e6,
  };
}

function sample(kept: Int32Array, max: number): number[] {
  if (kept.length <= max) return [...kept];
  const picked = shuffledIndices(kept.length, SAMPLE_SEED).subarray(0, max).toSorted();
  return [...picked].map((index) => kept[index] as number);
}

/**
 * Embed the texts, fit, evaluate on held-out texts, store, and put the map to use.
 *
 * @param onProgress texts embedded so far, then `null` once the fit itself is computed
 * @throws AppError those of `checkPairs` (400), `provider_unavailable` (502), and the signal's reason
 */
export async function fitProjection(
  context: ProjectionContext,
  request: FitRequest,
  plan: FitPlan,
  options: { signal: AbortSignal; onProgress?: (embedded: number | null) => void },
): Promise<FitSummary> {
  const { model, texts, space } = plan;
  const { signal, onProgress } = options;
  const vectors = await embedCalibration(context, model, texts, {
    signal,
    onProgress: (done) => onProgress?.(done),
  });
  const canonical = space ? await canonicalOf(context, plan, space, options) : null;
  onProgress?.(null);
  const task: FitTask = {
    ...{ vectors, nativeDimension: model.nativeDimension, canonical, rank: space?.space.rank ?? 0 },
    ...{ method: request.method, allowFewPairs: request.allowFewPairs },
  };
  const module = new URL('./fit-on-thread.ts', import.meta.url);
  const outcome = await context.threads.run<FitOutcome>(module, 'fitOnThread', task, { signal });
  if ('fault' in outcome) throw new AppError({ ...outcome.fault, status: 400 });
  return store(context, request, plan, { vectors, canonical }, outcome);
}

/** Frozen canonical vectors where the space has them; the reference model's own, mapped, for other texts. */
async function canonicalOf(
  context: ProjectionContext,
  plan: FitPlan,
  { space }: StoredSpace,
  options: { signal: AbortSignal; onProgress?: (embedded: number) => void },
): Promise<Float32Array> {
  const { frozen, texts } = plan;
  const { rank } = space;
  const canonical = new Float32Array(texts.length * rank);
  const foreign: number[] = [];
  for (const [row, place] of frozen.entries()) {
    if (place < 0) foreign.push(row);
    else canonical.set(space.corpus.subarray(place * rank, (place + 1) * rank), row * rank);
  }
  if (foreign.length === 0) return canonical;
  const reference = requireReference(context, (await selectSpace(context.sql, SPACE_ID)) as SpaceRecord);
  const own = foreign.map((row) => texts[row] as CalibrationText);
  const vectors = await embedCalibration(context, reference, own, {
    signal: options.signal,
    onProgress: (done) => options.onProgress?.(texts.length + done),
  });
  const centred = centreRows(vectors, space.nativeDimension, space.mean);
  const mapped = matmul(centred, own.length, space.nativeDimension, space.rotation, rank);
  for (const [at, row] of foreign.entries()) canonical.set(mapped.subarray(at * rank, (at + 1) * rank), row * rank);
  return canonical;
}

/** The model that the space was made from, as it was then. */
function requireReference(context: ProjectionContext, record: SpaceRecord): Model {
  const reference = context.findModel(record.referenceModel);
  if (reference.revision !== record.referenceRevision) {
    throw conflict(
      `${reference.id} has another revision than when ${SPACE_ID} was made; fit on the space's own texts (without --corpus and --from-bucket)`,
      'reference_changed',
    );
  }
  context.requireServed(reference);
  return reference;
}

async function store(
  context: ProjectionContext,
  request: FitRequest,
  plan: FitPlan,
  pairs: { vectors: Float32Array; canonical: Float32Array | null },
  result: FitResult,
): Promise<FitSummary> {
  const { sql, objects } = context;
  const { model } = plan;
  const { map, evaluation, kept } = result;
  const { nativeDimension, rank } = map;
  const texts = [...kept].map((index) => plan.texts[index] as CalibrationText);
  const version = await nextMapVersion(sql);
  const own = pickRows(pairs.vectors, nativeDimension, kept);
  const targetRank = result.space?.rank ?? plan.space?.space.rank ?? rank;
  const canonical = result.space ? result.space.corpus : pickRows(pairs.canonical as Float32Array, targetRank, kept);
  const pairsSha256 = (await writePairs(objects, version, { texts, vectors: own, canonical })).toString('hex');
  const canaryRows = Int32Array.from(canaryIndexes(texts.length));
  const header = {
    ...{ space: SPACE_ID, model: model.id, revision: model.revision, pairsSha256 },
    canaries: [...canaryRows].map((row) => texts[row] as CalibrationText),
  };
  const objectKey = `projections/maps/${version}`;
  const sha256 = await writeMap(objects, objectKey, header, map, pickRows(own, nativeDimension, canaryRows));
  const spaceKey = `projections/spaces/${SPACE_ID}-${version}`;
  const spaceSha256 = result.space ? await writeSpace(objects, spaceKey, { space: result.space, texts }) : null;

  const warnings = [...result.warnings];
  const { score, grade } = evaluation;
  const replacesGood =
    grade === 'fail' && (await selectMaps(sql, { model: model.id })).some((m) => m.status === 'active');
  const activate = request.activate && !replacesGood;
  if (grade !== 'good')
    warnings.push(
      `the grade is ${grade}: on held-out texts the right one is found first in ${score.toFixed(3)} of cases`,
    );
  if (replacesGood && request.activate) {
    warnings.push(`the map in use stays; "service projections activate ${version}" puts this one to use all the same`);
  }
  const written = [objectKey, pairsKey(version), ...(spaceSha256 ? [spaceKey] : [])];
  await inTransaction(sql, async (tx) => {
    if (spaceSha256) {
      const space = {
        ...{
          id: SPACE_ID,
          dimensions: SPACE_DIMENSIONS,
          pairs: texts.length,
          objectKey: spaceKey,
          sha256: spaceSha256,
        },
        ...{ referenceModel: model.id, referenceRevision: model.revision },
      };
      if (!(await insertSpace(tx, space))) throw conflict(`${SPACE_ID} was made meanwhile`, 'space_exists');
    }
    await insertMap(tx, {
      ...{ version, spaceId: SPACE_ID, model: model.id, modelRevision: model.revision, method: map.method },
      ...{ nativeDimension, rank, pairs: texts.length, score, scores: evaluation, grade, objectKey, sha256 },
      createdBy: request.actor,
    });
    if (activate) await activateMap(tx, { version, model: model.id });
    const detail = { model: model.id, pairs: texts.length, score, grade, active: activate };
    await recordAudit(tx, {
      orgId: null,
      actor: request.actor,
      action: 'projection.fit',
      target: String(version),
      detail,
    }).catch(async (error: unknown) => {
      for (const key of written) await objects.delete(key);
      throw error;
    });
  });
  // The map stands: what is left behind costs room, not truth.
  await forgetCalibration(objects, model, plan.texts).catch((error) =>
    context.logger.warn({ err: error }, 'vectors of a finished fit stay behind'),
  );
  return {
    ...{ model: model.id, space: SPACE_ID, map_version: version, pairs: texts.length },
    ...{ scores: evaluation, grade, active: activate, warnings },
  };
}

/** Spread over the texts, so that queries and passages of many domains are among them. */
function canaryIndexes(count: number): number[] {
  const picked = Math.min(CANARIES, count);
  return Array.from({ length: picked }, (_, nth) => Math.floor((nth * count) / picked));
}
