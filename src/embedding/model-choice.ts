import { ALIAS_ID, type Model } from '../models/catalog.ts';
import { AppError } from '../platform/errors.ts';
import type { Backends } from './backends.ts';
import type { Routing } from './routing-store.ts';

// Rules that choose the embedding model for all callers: single requests, images, ingest, search and bulk jobs.

/** Fields of a request that determine the model. */
export interface ModelRequest {
  /** Catalog id; the organization's routing decides when it is absent. */
  readonly model?: string | undefined;
  /** Output dimension; the model's default when absent. */
  readonly dimensions?: number | null | undefined;
  /** Vectors are stored and searched: they may have any dimension, and a fallback must be comparable. */
  readonly forIndex?: boolean;
  /** Use no fallback, even if the routing has one. */
  readonly exactly?: boolean;
}

export interface ModelChoice {
  /** Requested model, or the primary model of the organization. */
  readonly asked: Model;
  /** Models to try in order: the requested one, then its fallback if it has one. */
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
  /** True if the request asked for other dimensions than the fixed ones of the model. */
  readonly isDimensionIgnored: boolean;
}

export function dimensionsOf(model: Model, request: Pick<ModelRequest, 'dimensions' | 'forIndex'>): OutputDimensions {
  const wanted = request.dimensions ?? model.defaultDimension;
  if (request.forIndex || model.variableDimensions) return { dimensions: wanted, isDimensionIgnored: false };
  return { dimensions: model.defaultDimension, isDimensionIgnored: wanted !== model.defaultDimension };
}

/**
 * Refuse a request that no model can serve, before work is done for it.
 *
 * @throws AppError `provider_unavailable` (502) if neither the model nor its fallback has a provider
 */
export function requireAvailable(backends: Backends, stages: readonly Model[]): void {
  const [first] = stages;
  if (first && !stages.some((stage) => backends.isAvailable(stage))) backends.requireProviders(first);
}

/** Models of a bulk job, chosen once for all of its texts. */
export interface JobModels extends OutputDimensions {
  /** Requested model, or the primary model of the organization. */
  readonly asked: Model;
  /** Model that every chunk is embedded with: the alias itself if its backends are comparable. */
  readonly backend: Model;
  /** Models that certainly receive texts, so that the length of texts is checked against them; at least one. */
  readonly checkedBy: readonly Model[];
}

/**
 * Choose models such that all vectors of a job are comparable, whatever the language of a chunk. If the backends of the
 * alias share one latent space, each chunk goes to the backend of most of its text. If not, one backend embeds the
 * whole job: the one that a single request with `sample` (texts from all parts of the job) would get. A comparable
 * fallback may replace it for single chunks, as for an index.
 *
 * @throws AppError `unknown_model` (400), `provider_unavailable` (502) if no model can embed it
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

/** Error codes after which the fallback is tried; a refused input is not among them. */
const UNAVAILABLE = new Set(['provider_unavailable', 'projection_unusable']);

/** Return true if a model failed because it cannot be used now, so that another one may succeed. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && UNAVAILABLE.has(error.code);
}
