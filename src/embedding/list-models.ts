import { type Model, type ModelState, type ModelView, viewOf } from '../models/catalog.ts';
import { type Projections, spaceOf } from '../projection/projections.ts';
import type { Backends } from './backends.ts';

export interface ListContext {
  readonly backends: Backends;
  readonly projections: Projections;
}

export function viewModel(context: ListContext, model: Model): ModelView {
  return viewOf(model, stateOf(context, model));
}

/** List the models for `GET /v1/models`. */
export function listModels(context: ListContext): ModelView[] {
  return context.backends.catalog.list().map((model) => viewModel(context, model));
}

type Calibration = Pick<ModelState, 'status' | 'space' | 'map_version' | 'score'>;

function stateOf({ backends, projections }: ListContext, model: Model): ModelState {
  const models = model.kind === 'alias' ? backends.aliasBackends : [model];
  const own = models.map((each) => calibrationOf(projections, each));
  const available = backends.isAvailable(model);
  const calibrated = backends.isCalibrated(model);
  const status = statusOf(own);
  return {
    available,
    calibrated,
    status: available || status === 'calibrated' ? status : null,
    space: same(own.map(({ space }) => space)),
    map_version: same(own.map(({ map_version }) => map_version)),
    score: lowest(own.map(({ score }) => score)),
  };
}

function calibrationOf(projections: Projections, model: Model): Calibration {
  const map = projections.mapOf(model);
  const space = spaceOf(projections, model);
  if (map) return { status: 'calibrated', space, map_version: map.version, score: map.score };
  const state = projections.stateOf(model);
  if (state?.state === 'calibrating') return { status: 'calibrating', space, map_version: null, score: null };
  if (state?.state === 'apart') return { status: 'apart', space, map_version: null, score: state.score };
  return { status: 'served', space, map_version: null, score: null };
}

/** Combine the states of an alias's backends. The alias is calibrated once all of them are. */
function statusOf(own: readonly Calibration[]): Calibration['status'] {
  const found = new Set(own.map(({ status }) => status));
  if (found.size === 1) return own[0]?.status ?? null;
  return (['calibrating', 'apart', 'served'] as const).find((status) => found.has(status)) ?? null;
}

function same<T>(values: readonly T[]): T | null {
  return new Set(values).size === 1 ? (values[0] ?? null) : null;
}

function lowest(scores: readonly (number | null)[]): number | null {
  const known = scores.filter((score) => score !== null);
  return known.length === 0 || known.length < scores.length ? null : Math.min(...known);
}
