import { ALIAS_ID, type Model } from '../models/catalog.ts';
import { AppError } from '../platform/errors.ts';
import type { Backends } from './backends.ts';
import type { Routing } from './routing-store.ts';

// The rules for which model embeds, for every caller: single requests, images, ingest, search and bulk jobs.

/** The part of a request that decides on the model. */
export interface ModelRequest {
  /** Catalog id; the organization's routing decides when it is absent. */
  readonly model?: string | undefined;
  /** Output dimension; the model's default when absent. */
  readonly dimensions?: number | null | undefined;
  /** Vectors are stored and searched: they may have any dimension, and a fallback only where it is comparable. */
  readonly forIndex?: boolean;
  /** No fallback, whatever the routing says. */
  readonly exactly?: boolean;
}

export interface ModelChoice {
  /** The model that was asked for, or the organization's primary. */
  readonly asked: Model;
  /** Models to try, in order: the one asked for, then its fallback where it has one. */
  readonly stages: readonly Model[];
}

/** @throws AppError `unknown_model` (400) */
export function chooseModels(backends: Backends, routing: Routing, request: ModelRequest): ModelChoice {
  const { primary, fallback, mode } = routing;
  const asked = backends.catalog.find(request.model ?? primary);
  const hasFallback =
    mode === 'fallback' &&
    fallback !== null &&
    asked.id === primary &&
    !request.exactly &&
    (!request.forIndex || backends.areComparable([primary, fallback]));
  return { asked, stages: hasFallback ? [asked, backends.catalog.find(fallback)] : [asked] };
}

/** Length of the vectors that a model gives for a request. */
export interface OutputDimensions {
  readonly dimensions: number;
  /** Other dimensions were asked for than the model has, which are fixed. */
  readonly isDimensionIgnored: boolean;
}

export function dimensionsOf(model: Model, request: Pick<ModelRequest, 'dimensions' | 'forIndex'>): OutputDimensions {
  const wanted = request.dimensions ?? model.defaultDimension;
  if (request.forIndex || model.variableDimensions) return { dimensions: wanted, isDimensionIgnored: false };
  return { dimensions: model.defaultDimension, isDimensionIgnored: wanted !== model.defaultDimension };
}

/**
 * Refuse a request that no model could serve, before work is done for it.
 *
 * @throws AppError `provider_unavailable` (502) where neither the model nor its fallback has a provider
 */
export function requireAvailable(backends: Backends, stages: readonly Model[]): void {
  const [first] = stages;
  if (first && !stages.some((stage) => backends.isAvailable(stage))) backends.requireProviders(first);
}

/** The models of a bulk job, decided once for all of its texts. */
export interface JobModels extends OutputDimensions {
  /** The model that was asked for, or the organization's primary. */
  readonly asked: Model;
  /** The model that every chunk asks for: the alias itself where its backends are comparable. */
  readonly backend: Model;
  /** Models that texts are sure to be sent to, by which their length is checked; at least one. */
  readonly checkedBy: readonly Model[];
}

/**
 * All vectors of a job must be comparable, whatever the language of a chunk. Where the alias stands for backends of one
 * latent space, each chunk goes to the backend of most of its text. Where not, one backend embeds the whole job: the one
 * that a single request with `sample`, texts from all over the job, would get. A comparable fallback steps in at each
 * chunk, as it does for an index.
 *
 * @throws AppError `unknown_model` (400), `provider_unavailable` (502) where nothing can embed it
 */
export async function chooseJobModels(
  backends: Backends,
  routing: Routing,
  request: Pick<ModelRequest, 'model' | 'dimensions'> & { readonly sample: readonly string[] },
): Promise<JobModels> {
  const { asked } = chooseModels(backends, routing, request);
  const groups = await backends.choose(asked, request.sample, false);
  const checkedBy = groups.map(({ modelId }) => backends.catalog.find(modelId));
  const [first] = checkedBy;
  if (!first) throw new Error('nothing to embed');
  const backend = asked.kind === 'alias' && backends.areComparable([ALIAS_ID]) ? asked : first;
  const { stages } = chooseModels(backends, routing, { model: backend.id, forIndex: true });
  requireAvailable(backends, stages);
  return { asked, backend, checkedBy, ...dimensionsOf(asked, request) };
}

/** Failures of a model for which its fallback steps in; an input that the model refuses is none. */
const UNAVAILABLE = new Set(['provider_unavailable', 'projection_unusable']);

/** Whether a model failed because it cannot be used now, so that another one may do better. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && UNAVAILABLE.has(error.code);
}
