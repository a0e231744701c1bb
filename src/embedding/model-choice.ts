import { ALIAS_ID, type Model } from '../models/catalog.ts';
import { AppError } from '../platform/errors.ts';
import type { Backends } from './backends.ts';
import type { Routing } from './routing-store.ts';

// Rules that choose the embedding model for all callers: single requests, images, ingest, search and bulk jobs.

/** Origin of vectors to compare others with: those of an index, or of the first part of a job. */
export interface VectorOrigin {
  /** Model that embedded them; the alias if its comparable backends did. */
  readonly model: string;
  /** Revision of the model, or null for several models or an unrecorded revision. */
  readonly revision: string | null;
  readonly space: string;
}

/** Part of a request that determines the model. */
export interface ModelRequest {
  /** Catalog id. If absent, the organization's routing decides. */
  readonly model?: string | undefined;
  /** Output dimension. If absent, the model's default. */
  readonly dimensions?: number | null | undefined;
  /**
   * Stored vectors that the new ones must be comparable with. All new ones then come from one model and may have any
   * dimension. Null: none are stored yet. Undefined: no comparison is needed.
   */
  readonly comparableWith?: VectorOrigin | null | undefined;
  /** Use no fallback, despite the routing. */
  readonly exactly?: boolean;
}

export interface ModelChoice {
  /** Model named by the request, by the stored vectors, or by the routing. */
  readonly asked: Model;
  /** Models to try in order, at least one. */
  readonly stages: readonly Model[];
}

/**
 * Choose models by the request, the stored vectors or the routing. For stored vectors, any model that produces vectors
 * of their space qualifies. The model that embedded them comes first.
 *
 * @throws AppError `unknown_model` (400), `not_comparable` (409) if no model produces vectors of the space
 */
export function chooseModels(backends: Backends, routing: Routing, request: ModelRequest): ModelChoice {
  const { comparableWith } = request;
  if (comparableWith && request.model === undefined) return chooseForIndex(backends, routing, comparableWith);
  const { primary, fallback, mode } = routing;
  const asked = backends.catalog.find(request.model ?? primary);
  if (comparableWith && !backends.gives(asked, comparableWith.space)) throw notComparable(comparableWith);
  const hasFallback =
    mode === 'fallback' &&
    fallback !== null &&
    asked.id === primary &&
    !request.exactly &&
    canStandIn(backends, [primary, fallback], comparableWith);
  return { asked, stages: hasFallback ? [asked, backends.catalog.find(fallback)] : [asked] };
}

function canStandIn(
  backends: Backends,
  [primary, fallback]: readonly [string, string],
  comparableWith: VectorOrigin | null | undefined,
): boolean {
  if (comparableWith === undefined) return true;
  if (comparableWith === null) return backends.areComparable([primary, fallback]);
  return backends.gives(backends.catalog.find(fallback), comparableWith.space);
}

/** Maximum number of models that one search or upload tries. They share its time limit. */
const INDEX_STAGES_MAX = 2;

function chooseForIndex(backends: Backends, { primary, fallback }: Routing, origin: VectorOrigin): ModelChoice {
  let asked: Model | null = null;
  const stages = new Set<Model>();
  for (const id of [origin.model, primary, fallback, ...backends.catalog.ids()]) {
    const model = id === null ? null : backends.catalog.get(id);
    if (!model || !backends.gives(model, origin.space)) continue;
    asked ??= model;
    // An alias with a single backend isn't another model to try.
    if (backends.isAvailable(model)) stages.add(backends.indexModelsOf(model).embedder);
    if (stages.size === INDEX_STAGES_MAX) break;
  }
  if (asked === null) throw notComparable(origin);
  return { asked, stages: stages.size === 0 ? [asked] : [...stages] };
}

/**
 * Choose the model that embeds documents of an index. An alias qualifies only if its backends share a space.
 *
 * @param origin vectors of the index; null if it has none
 * @throws AppError `not_comparable` (409)
 */
export function chooseIndexModel(backends: Backends, routing: Routing, origin: VectorOrigin | null): Model {
  const { asked, stages } = chooseModels(backends, routing, { comparableWith: origin });
  return backends.indexModelsOf(stages.find((stage) => backends.isAvailable(stage)) ?? asked).embedder;
}

/** Return true if a model, or a backend of the alias, runs on this host and is thus slower than a vendor's. */
export function runsOnHost(backends: Backends, model: Model): boolean {
  return backends.indexModelsOf(model).models.some(({ local }) => local !== null);
}

function notComparable({ model, space }: VectorOrigin): AppError {
  return new AppError({
    code: 'not_comparable',
    status: 409,
    message: `no model of this installation makes vectors that can be compared with those of ${model} (${space}); configure that model again, or move the bucket to another model (service index reembed)`,
  });
}

/** Length of the vectors that a model returns for a request. */
export interface OutputDimensions {
  readonly dimensions: number;
  /** True if the request asked for dimensions that a fixed-dimension model can't produce. */
  readonly isDimensionIgnored: boolean;
}

export function dimensionsOf(
  model: Model,
  request: Pick<ModelRequest, 'dimensions' | 'comparableWith'>,
): OutputDimensions {
  const wanted = request.dimensions ?? model.defaultDimension;
  const isFree = request.comparableWith !== undefined || model.variableDimensions;
  if (isFree) return { dimensions: wanted, isDimensionIgnored: false };
  return { dimensions: model.defaultDimension, isDimensionIgnored: wanted !== model.defaultDimension };
}

/**
 * Refuse a request early if no model can serve it.
 *
 * @throws AppError `provider_unavailable` (502) if neither the model nor its fallback has a provider
 */
export function requireAvailable(backends: Backends, stages: readonly Model[]): void {
  const [first] = stages;
  if (first && !stages.some((stage) => backends.isAvailable(stage))) backends.requireProviders(first);
}

/** Models of a bulk job, chosen once for all texts. */
export interface JobModels extends OutputDimensions {
  /** Requested model, or the primary model of the organization. */
  readonly asked: Model;
  /** Model that embeds every chunk; the alias itself if its backends are comparable. */
  readonly backend: Model;
  /** Models that certainly receive texts, for checking text lengths; at least one. */
  readonly checkedBy: readonly [Model, ...Model[]];
}

/**
 * Choose models so that all vectors of a job are comparable, whatever the language of a chunk. If the backends of the
 * alias share one latent space, each chunk goes to the backend for most of its text. Otherwise one backend embeds the
 * whole job: the one that a single request with `sample` (texts from all parts of the job) would get. A comparable
 * fallback may replace it for individual chunks, as for an index. If the primary model has no provider, or its circuit
 * breaker is open, its fallback embeds the whole job.
 *
 * @throws AppError `unknown_model` (400), `provider_unavailable` (502) if no model can embed it
 */
export async function chooseJobModels(
  backends: Backends,
  routing: Routing,
  request: Pick<ModelRequest, 'model' | 'dimensions'> & { readonly sample: readonly string[] },
): Promise<JobModels> {
  const choice = chooseModels(backends, routing, request);
  // As for a single request, the fallback replaces an unavailable primary model, here for the whole job.
  const available = choice.stages.filter((stage) => backends.isAvailable(stage));
  const asked = available.find((stage) => !backends.isBlocked(stage)) ?? available[0] ?? choice.asked;
  const groups = await backends.choose(asked, request.sample, false);
  const [first, ...others] = groups.map(({ modelId }) => backends.catalog.find(modelId));
  if (!first) throw new Error('nothing to embed');
  const backend = asked.kind === 'alias' && backends.areComparable([ALIAS_ID]) ? asked : first;
  const { stages } = chooseModels(backends, routing, { model: backend.id, comparableWith: null });
  requireAvailable(backends, stages);
  return { asked, backend, checkedBy: [first, ...others], ...dimensionsOf(asked, request) };
}

/** Find the usable fallback that the routing names for a model, or null. */
export function fallbackOf(backends: Backends, routing: Routing, modelId: string): Model | null {
  const { stages } = chooseModels(backends, routing, { model: modelId });
  const fallback = stages[1];
  return fallback && backends.isAvailable(fallback) ? fallback : null;
}

/** Error codes after which to try the fallback. They don't include input that the vendor rejects. */
const UNAVAILABLE = new Set(['provider_unavailable', 'projection_unusable']);

/** Return true if a model is currently unusable, so that another may succeed. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && UNAVAILABLE.has(error.code);
}
