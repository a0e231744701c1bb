import { recordAudit } from '../access/audit.ts';
import type { Model } from '../models/catalog.ts';
import { countTokens } from '../models/tokens.ts';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { pairsKey, readSpace, type StoredSpace, writeMap, writePairs, writeSpace } from './artifacts.ts';
import { type CalibrationText, deleteCalibration, type EmbedNative, embedCalibration } from './calibration.ts';
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
  /** Find a model by id. @throws AppError `unknown_model` */
  readonly findModel: (id: string) => Model;
  /** @throws AppError `provider_unavailable` (502) if no provider is configured for the model */
  readonly requireServed: (model: Model) => void;
}

export interface FitRequest {
  readonly model: string;
  /** True to create the space from this model instead of mapping the model into the existing space. */
  readonly reference: boolean;
  /** Operator's own texts; null for the texts of the space, or the built-in ones. */
  readonly corpus: readonly CalibrationText[] | null;
  readonly pairsMax: number;
  readonly method: FitMethod;
  readonly allowFewPairs: boolean;
  readonly activate: boolean;
  /** True to neither activate a map nor create a space with grade `fail`. */
  readonly gate?: boolean;
  /** Caller's name in the audit log. */
  readonly actor: string;
}

export interface FitPlan {
  readonly model: Model;
  readonly texts: readonly CalibrationText[];
  readonly space: StoredSpace | null;
  /** Index of each text among the space's canonical vectors; -1 if the reference model must also embed it. */
  readonly frozen: Int32Array;
  /** Number of texts sent to the model and the reference model. */
  readonly textsToEmbed: number;
  /** Estimated tokens of these texts. */
  readonly tokens: number;
  /** Estimated cost at the operator's prices; 0 without prices. */
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
 * Choose the texts of a fit and estimate its cost.
 *
 * @throws AppError `not_fittable`, `too_few_pairs` (400), `space_exists`, `space_missing` (409), `artifact_corrupt`
 *   (500)
 */
export async function planFit(
  context: ProjectionContext,
  request: FitRequest,
  builtIn: () => readonly CalibrationText[],
): Promise<FitPlan> {
  const model = context.findModel(request.model);
  if (model.kind !== 'semantic') {
    const reason =
      model.kind === 'alias'
        ? 'is an alias and cannot be fitted; fit the models that it stands for'
        : 'is a lexical model with a space of its own and cannot be fitted; choose a semantic model';
    throw invalidRequest(`${model.id} ${reason}`, 'model', 'not_fittable');
  }
  context.requireServed(model);
  const record = await selectSpace(context.sql, SPACE_ID);
  if (request.reference && record) {
    throw conflict(
      `${SPACE_ID} was already created from ${record.referenceModel}; leave out --reference`,
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
  const given = request.corpus ?? space?.texts;
  const all = given ?? builtIn();
  const { kept } = checkCorpus(
    all.map(({ text }) => text),
    { allowFewPairs: request.allowFewPairs },
  );
  // The built-in texts are in order of preference, so take the first ones. Other texts are unordered, so sample them.
  const rows = given ? sample(kept, request.pairsMax) : [...kept.subarray(0, request.pairsMax)];
  const chosen = rows.map((index) => all[index] as CalibrationText);
  const places = new Map(space?.texts.map(({ text, kind }, index) => [`${kind}\n${text}`, index]));
  const frozen = Int32Array.from(chosen, ({ text, kind }) => places.get(`${kind}\n${text}`) ?? -1);
  const tokensOf = (texts: readonly CalibrationText[]) => texts.reduce((sum, { text }) => sum + countTokens(text), 0);
  const uncovered = space ? chosen.filter((_, index) => (frozen[index] as number) < 0) : [];
  const tokens = tokensOf(chosen);
  const uncoveredTokens = tokensOf(uncovered);
  const reference = record && uncovered.length > 0 ? requireReference(context, record) : model;
  return {
    model,
    texts: chosen,
    space,
    frozen,
    textsToEmbed: chosen.length + uncovered.length,
    tokens: tokens + uncoveredTokens,
    cost: (tokens * model.pricePerMillion + uncoveredTokens * reference.pricePerMillion) / 1e6,
  };
}

function sample(kept: Int32Array, max: number): number[] {
  if (kept.length <= max) return [...kept];
  const picked = shuffledIndices(kept.length, SAMPLE_SEED).subarray(0, max).toSorted();
  return [...picked].map((index) => kept[index] as number);
}

/**
 * Embed the texts, fit the map, evaluate it on held-out texts, store it and activate it.
 *
 * @param onProgress called with the number of texts embedded so far, then with `null` when the fit itself starts
 * @throws AppError the errors of `checkPairs` (400), `provider_unavailable` (502), and the reason of the signal
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
    vectors,
    nativeDimension: model.nativeDimension,
    canonical,
    rank: space?.space.rank ?? 0,
    method: request.method,
    allowFewPairs: request.allowFewPairs,
  };
  const module = new URL('./fit-on-thread.ts', import.meta.url);
  const outcome = await context.threads.run<FitOutcome>(module, 'fitOnThread', task, { signal, isLong: true });
  if ('fault' in outcome) throw new AppError({ ...outcome.fault, status: 400 });
  return store(context, request, plan, { vectors, canonical }, outcome);
}

/** Return the canonical vectors of the texts: frozen vectors of the space, or else mapped reference vectors. */
async function canonicalOf(
  context: ProjectionContext,
  plan: FitPlan,
  { space }: StoredSpace,
  options: { signal: AbortSignal; onProgress?: (embedded: number) => void },
): Promise<Float32Array> {
  const { frozen, texts } = plan;
  const { rank } = space;
  const canonical = new Float32Array(texts.length * rank);
  const uncovered: number[] = [];
  for (const [row, place] of frozen.entries()) {
    if (place < 0) uncovered.push(row);
    else canonical.set(space.corpus.subarray(place * rank, (place + 1) * rank), row * rank);
  }
  if (uncovered.length === 0) return canonical;
  const reference = requireReference(context, (await selectSpace(context.sql, SPACE_ID)) as SpaceRecord);
  const own = uncovered.map((row) => texts[row] as CalibrationText);
  const vectors = await embedCalibration(context, reference, own, {
    signal: options.signal,
    onProgress: (done) => options.onProgress?.(texts.length + done),
  });
  const centred = centreRows(vectors, space.nativeDimension, space.mean);
  const mapped = matmul(centred, own.length, space.nativeDimension, space.rotation, rank);
  for (const [at, row] of uncovered.entries()) canonical.set(mapped.subarray(at * rank, (at + 1) * rank), row * rank);
  return canonical;
}

/** Return the model that defined the space. @throws AppError `reference_changed` (409) if its revision differs */
function requireReference(context: ProjectionContext, record: SpaceRecord): Model {
  const reference = context.findModel(record.referenceModel);
  if (reference.revision !== record.referenceRevision) {
    throw conflict(
      `the revision of ${reference.id} has changed since ${SPACE_ID} was created; fit on the space's own texts (without --corpus and --from-bucket)`,
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
  const { score, grade } = evaluation;
  const { nativeDimension, rank } = map;
  const isStopped = request.gate === true && grade === 'fail';
  if (isStopped && result.space) throw unfitReference(model, score);
  const texts = [...kept].map((index) => plan.texts[index] as CalibrationText);
  const version = await nextMapVersion(sql);
  const own = pickRows(pairs.vectors, nativeDimension, kept);
  const targetRank = result.space?.rank ?? plan.space?.space.rank ?? rank;
  const canonical = result.space ? result.space.corpus : pickRows(pairs.canonical as Float32Array, targetRank, kept);
  const pairsSha256 = (await writePairs(objects, version, { texts, vectors: own, canonical })).toString('hex');
  const canaryRows = Int32Array.from(canaryIndexes(texts.length));
  const header = {
    space: SPACE_ID,
    model: model.id,
    revision: model.revision,
    pairsSha256,
    canaries: [...canaryRows].map((row) => texts[row] as CalibrationText),
  };
  const objectKey = `projections/maps/${version}`;
  const sha256 = await writeMap(objects, objectKey, header, map, pickRows(own, nativeDimension, canaryRows));
  const spaceKey = `projections/spaces/${SPACE_ID}-${version}`;
  const spaceSha256 = result.space ? await writeSpace(objects, spaceKey, { space: result.space, texts }) : null;
  const replacesGood =
    grade === 'fail' && (await selectMaps(sql, { model: model.id })).some((m) => m.status === 'active');
  const activate = request.activate && !replacesGood && !isStopped;
  const warnings = [...result.warnings, ...(grade === 'good' ? [] : [weakGrade(grade, score)])];
  if (replacesGood && request.activate) {
    warnings.push(`the active map stays in use; run "service projections activate ${version}" to use this map anyway`);
  }
  const written = [objectKey, pairsKey(version), ...(spaceSha256 ? [spaceKey] : [])];
  await inTransaction(sql, async (tx) => {
    if (spaceSha256) {
      const isNew = await insertSpace(tx, {
        id: SPACE_ID,
        dimensions: SPACE_DIMENSIONS,
        pairs: texts.length,
        objectKey: spaceKey,
        sha256: spaceSha256,
        referenceModel: model.id,
        referenceRevision: model.revision,
      });
      if (!isNew) throw conflict(`${SPACE_ID} was created meanwhile; leave --reference out`, 'space_exists');
    }
    await insertMap(tx, {
      version,
      spaceId: SPACE_ID,
      model: model.id,
      modelRevision: model.revision,
      method: map.method,
      nativeDimension,
      rank,
      pairs: texts.length,
      score,
      scores: evaluation,
      grade,
      objectKey,
      sha256,
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
      for (const key of written) await objects.delete(key, { unreferenced: true });
      throw error;
    });
  });
  // The map is stored, so leftover calibration vectors only take up space.
  await deleteCalibration(objects, model, plan.texts).catch((error) =>
    context.logger.warn({ err: error }, 'could not delete the calibration vectors of a finished fit'),
  );
  return {
    model: model.id,
    space: SPACE_ID,
    map_version: version,
    pairs: texts.length,
    scores: evaluation,
    grade,
    active: activate,
    warnings,
  };
}

function weakGrade(grade: string, score: number): string {
  return (
    `the grade is ${grade}: a search finds the same text first for ${score.toFixed(3)} of the held-out texts; ` +
    'fit again with more pairs from the domain of your documents'
  );
}

function unfitReference(model: Model, score: number): AppError {
  return conflict(
    `${model.id} does not find its own texts again (score ${score.toFixed(3)}), so that it cannot define the space`,
    'unfit_reference',
  );
}

/** Choose indices spread over the texts, so that the canaries include queries and passages from many domains. */
function canaryIndexes(count: number): number[] {
  const picked = Math.min(CANARIES, count);
  return Array.from({ length: picked }, (_, nth) => Math.floor((nth * count) / picked));
}
