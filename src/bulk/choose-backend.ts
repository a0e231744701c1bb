import type { Backends } from '../embedding/backends.ts';
import type { Routing } from '../embedding/routing-store.ts';
import { ALIAS_ID, type Model } from '../models/catalog.ts';

/** Who embeds a job, decided once for all of its texts. */
export interface BulkChoice {
  /** As asked for, or as the organization's routing says. */
  readonly model: Model;
  /** The model that every chunk is sent to: the alias itself where its backends are comparable. */
  readonly backend: Model;
  /** Models that texts are sure to be sent to, by which their length is checked; at least one. */
  readonly checkedBy: readonly Model[];
  readonly vectorDimensions: number;
  /** The model has fixed dimensions, and others were asked for. */
  readonly isDimensionIgnored: boolean;
}

/**
 * All vectors of a job must be comparable, whatever the language of a chunk. Where the alias stands for backends of one
 * latent space, each chunk goes to the backend of most of its text. Where not, one backend embeds the whole job: the one
 * that a synchronous request with `sample` would get, texts from all over the job.
 *
 * A fallback steps in later, at each chunk, where the routing has one that is comparable (as it does for an index).
 *
 * @throws AppError `unknown_model` (400), `provider_unavailable` (502) where nothing can embed it
 */
export async function chooseBackend(
  backends: Backends,
  routing: Routing,
  request: {
    readonly model?: string | undefined;
    readonly dimensions?: number | null | undefined;
    readonly sample: readonly string[];
  },
): Promise<BulkChoice> {
  const { primary, fallback, mode } = routing;
  const model = backends.catalog.find(request.model ?? primary);
  const dimensions = request.dimensions ?? model.defaultDimension;
  const isDimensionIgnored = !model.variableDimensions && dimensions !== model.defaultDimension;
  const groups = await backends.choose(model, request.sample, false);
  const chosen = groups.map(({ modelId }) => backends.catalog.find(modelId));
  const [first] = chosen;
  if (!first) throw new Error('nothing to embed');
  const backend = model.kind === 'alias' && backends.areComparable([ALIAS_ID]) ? model : first;
  const canFallBack =
    mode === 'fallback' &&
    fallback !== null &&
    model.id === primary &&
    backend === model &&
    backends.areComparable([primary, fallback]);
  // Better now than from a job that fails.
  if (!canFallBack) for (const each of chosen) backends.providerOf(each);
  const vectorDimensions = isDimensionIgnored ? model.defaultDimension : dimensions;
  return { model, backend, checkedBy: chosen, vectorDimensions, isDimensionIgnored };
}
