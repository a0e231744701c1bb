import type { Model } from '../../models/catalog.ts';
import type { AutoCalibrationSettings } from '../../platform/projection-settings.ts';
import type { CalibrationText } from '../calibration.ts';
import { readCalibrationCorpus } from '../corpus/calibration-corpus.ts';
import {
  type FitPlan,
  type FitRequest,
  type FitSummary,
  fitProjection,
  type ProjectionContext,
  planFit,
} from '../fit-projection.ts';
import { SPACE_ID } from '../schema.ts';
import { selectSpace } from '../store.ts';
import {
  type CalibrationState,
  deleteCalibrationState,
  type NewestMap,
  recordApart,
  recordFailure,
  recordProgress,
  recordStart,
  selectCalibrationStates,
  selectNewestMaps,
} from './state-store.ts';

/** Actor in the audit log for automatically fitted maps. */
const ACTOR = 'system:calibration';
/** Time before retrying a model that failed the quality gate. */
const APART_MS = 24 * 3_600_000;
/** Pauses after a failure. */
const RETRY = { firstMs: 30_000, maxMs: 3_600_000 };
const REASON_CHARACTERS_MAX = 300;

export interface AutoCalibrationContext extends ProjectionContext {
  readonly settings: AutoCalibrationSettings;
  readonly isServed: (model: Model) => boolean;
  /** Make this process use the currently active maps. */
  readonly refresh: () => Promise<void>;
  /** Sample texts from all buckets of the installation, evenly. */
  readonly sampleTexts: (max: number) => Promise<string[]>;
}

/** Select the models to calibrate now: served, semantic, without a usable map, and not paused. */
export async function selectDue(
  { sql, isServed }: Pick<AutoCalibrationContext, 'sql' | 'isServed'>,
  candidates: readonly Model[],
): Promise<Model[]> {
  const semantic = candidates.filter((model) => model.kind === 'semantic' && isServed(model));
  if (semantic.length === 0) return [];
  const maps = new Map((await selectNewestMaps(sql)).map((map) => [map.model, map]));
  const states = new Map((await selectCalibrationStates(sql)).map((state) => [state.model, state]));
  return semantic.filter((model) => isUncalibrated(model, maps.get(model.id)) && mayStart(model, states.get(model.id)));
}

function isUncalibrated({ revision, nativeDimension }: Model, map: NewestMap | undefined): boolean {
  if (map?.revision !== revision || map.nativeDimension !== nativeDimension) return true;
  // After retiring a map, the operator decides when to fit a new one.
  if (map.status === 'retired') return false;
  return map.status === 'inactive' || map.isStale;
}

function mayStart({ revision, nativeDimension }: Model, state: CalibrationState | undefined): boolean {
  if (state?.revision !== revision || state.nativeDimension !== nativeDimension) return true;
  return state.retryAt === null || state.retryAt.getTime() <= Date.now();
}

/**
 * Calibrate models one after the other. If no space exists yet, the model with the most native dimensions defines it,
 * and the others are mapped into it. A model that can't be calibrated now doesn't delay the others.
 *
 * @throws the reason of the signal
 */
export async function calibrateModels(
  context: AutoCalibrationContext,
  due: readonly Model[],
  signal: AbortSignal,
): Promise<void> {
  const { sql, logger } = context;
  const ordered = due.toSorted((a, b) => b.nativeDimension - a.nativeDimension);
  for (const model of ordered) {
    signal.throwIfAborted();
    try {
      await calibrate(context, model, signal);
    } catch (error) {
      signal.throwIfAborted();
      const reason = (error as Error).message.slice(0, REASON_CHARACTERS_MAX);
      await recordFailure(sql, model, reason, RETRY);
      logger.warn({ err: error, model: model.id }, 'a model could not be calibrated; it is tried again later');
    }
  }
}

async function calibrate(context: AutoCalibrationContext, model: Model, signal: AbortSignal): Promise<void> {
  const { sql, logger } = context;
  const { request, plan } = await planCalibration(context, model);
  const { textsToEmbed: texts, tokens, cost } = plan;
  await recordStart(sql, model, texts);
  const price = { model: model.id, texts, tokens, cost };
  logger.info(price, 'calibrating a model: its texts are embedded by the provider, at the price of these tokens');
  let recording = Promise.resolve();
  const summary = await fitProjection(context, request, plan, {
    signal,
    onProgress(done) {
      if (done === null) return;
      recording = recording.then(() => recordProgress(sql, model.id, done)).catch(() => undefined);
    },
  }).finally(() => recording);
  await settle(context, model, summary, price);
}

async function settle(
  { sql, logger, refresh }: AutoCalibrationContext,
  model: Model,
  { map_version: map, grade, active, scores: { score } }: FitSummary,
  price: Record<string, unknown>,
): Promise<void> {
  if (active) {
    await deleteCalibrationState(sql, model.id);
    await refresh();
    logger.info({ ...price, map, score, grade }, 'a model is calibrated; its vectors are in the canonical space now');
    return;
  }
  await recordApart(sql, model.id, score, APART_MS);
  logger.warn(
    { ...price, map, score, grade },
    `a model stays in a space of its own: its map did not pass the quality gate; it is calibrated again after 24 h, or use the map anyway by "service projections activate ${map}"`,
  );
}

/** Plan a fit within the text budget, including texts that the reference model embeds. */
async function planCalibration(
  context: AutoCalibrationContext,
  model: Model,
): Promise<{ request: FitRequest; plan: FitPlan }> {
  const { settings, sql } = context;
  const hasSpace = (await selectSpace(sql, SPACE_ID)) !== null;
  const request: FitRequest = {
    model: model.id,
    reference: !hasSpace,
    corpus: null,
    pairsMax: settings.textsMax,
    method: 'procrustes',
    allowFewPairs: false,
    activate: true,
    gate: true,
    actor: ACTOR,
  };
  const plan = await planFit(context, request, readCalibrationCorpus);
  const own = settings.fromBuckets ? await ownTexts(context, hasSpace) : [];
  if (own.length === 0) return { request, plan };
  // Texts of the space need no call to its reference model, so fill the rest of the budget with them.
  const rest = settings.textsMax - own.length * (hasSpace ? 2 : 1);
  const mixed = { ...request, corpus: [...own, ...plan.texts.slice(0, Math.max(0, rest))] };
  try {
    return { request: mixed, plan: await planFit(context, mixed, readCalibrationCorpus) };
  } catch (error) {
    context.logger.info(
      { err: error, model: model.id },
      'a model is calibrated without texts of the buckets, which the reference model of the space cannot embed now',
    );
    return { request, plan };
  }
}

/** Return texts of the buckets: half of the budget, or a quarter if the reference model must embed them too. */
async function ownTexts(
  { settings, sampleTexts }: AutoCalibrationContext,
  hasSpace: boolean,
): Promise<CalibrationText[]> {
  const texts = await sampleTexts(Math.floor(settings.textsMax / (hasSpace ? 4 : 2)));
  return texts.map((text, index) => ({ text, kind: index % 2 === 0 ? 'passage' : 'query' }));
}
