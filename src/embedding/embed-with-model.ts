import type { Model } from '../models/catalog.ts';
import { checkTokenLimit, countInSlices, knownTokens, type TokenCounters } from '../models/count-tokens.ts';
import type { TaskType } from '../models/task-types.ts';
import { AppError } from '../platform/errors.ts';
import { freeMemory } from '../platform/free-memory.ts';
import type { CalibrationState } from '../projection/auto/state-store.ts';
import { type ActiveMap, mapInto, nativeSpaceOf, type Projections } from '../projection/projections.ts';
import { resizeVectors } from '../projection/resize.ts';
import type { Backends } from './backends.ts';
import type { ProjectedCache } from './cache/projected-cache.ts';
import type { NativeReply, NativeVectors } from './native-vectors.ts';
import type { Projector } from './projector.ts';

export interface ModelCall {
  readonly model: Model;
  /** Model that the caller named: `model`, or an alias with its own limit. */
  readonly asked: Model;
  readonly texts: readonly string[];
  /** Position of each text in the request, for errors. */
  readonly indexes: readonly number[];
  readonly taskType: TaskType | null;
  /** Length of the requested vectors. */
  readonly dimensions: number;
  /** Latent space of the vectors. Null for the canonical space if the model has a map, else its native space. */
  readonly space: string | null;
  /** Keep the vectors out of the caches. */
  readonly isBulk: boolean;
  /** Token count of each text with its prefix, by the model's tokenizer; null if unknown. */
  readonly tokens: readonly number[] | null;
  /** Use the tokens that the vendor reports, and count the texts only if it reports none. */
  readonly takesVendorTokens: boolean;
  /** Also return the vectors before projection. */
  readonly keepNative: boolean;
  /** Leave out zeros behind the dimensions of a model without a map. */
  readonly unpadded: boolean;
  readonly signal: AbortSignal;
}

export interface ModelAnswer {
  /** Float32Array [n x columns], row-major, rows of unit length. The caller owns it. */
  readonly vectors: Float32Array;
  readonly columns: number;
  /** Vectors before projection, Float32Array [n x model.nativeDimension], or null if not requested. */
  readonly native: Float32Array | null;
  readonly tokens: number;
  readonly textTokens: readonly number[];
  readonly space: string;
  /** Dimensions that carry information, without zero padding. */
  readonly effectiveDimensions: number;
  /** `canon-v1; map=3; score=0.97`, or `uncalibrated` with the progress of the calibration. */
  readonly projection: string;
  readonly mapVersion: number | null;
}

export interface ModelContext {
  readonly backends: Backends;
  readonly projections: Projections;
  readonly counters: TokenCounters;
  readonly natives: NativeVectors;
  readonly projector: Projector;
  readonly projected: ProjectedCache;
}

/**
 * Embed texts with one model: add the prefix, check the token limit, read the caches or call the provider, project.
 *
 * @throws AppError `token_limit_exceeded`, `upstream_rejected` (400); `provider_unavailable` (502)
 */
export async function embedWithModel(context: ModelContext, call: ModelCall): Promise<ModelAnswer> {
  const { model, taskType, dimensions, signal } = call;
  const { projections } = context;
  const provider = context.backends.providerOf(model);
  const prefix = taskType === null ? undefined : model.prefixes[taskType];
  const texts = prefix ? call.texts.map((text) => prefix + text) : call.texts;
  const counters = call.tokens ? knownTokens(texts, call.tokens) : context.counters;
  await checkTokenLimit(counters, model, texts, { indexes: call.indexes, asked: call.asked, signal });
  const count = (some: readonly string[]) =>
    call.isBulk ? countInSlices(counters, model, some, signal) : counters.count(model, some, signal);
  // Computing a lexical vector costs less than a cache lookup.
  const native =
    model.kind === 'lexical'
      ? await provider.embed({ model, texts, counts: await count(texts), taskType, signal })
      : await context.natives.embed({
          model,
          provider,
          texts,
          taskType,
          signal,
          count,
          isBulk: call.isBulk,
          takesVendorTokens: call.takesVendorTokens,
        });
  const map = call.space === null ? projections.mapOf(model) : mapInto(projections, model, call.space);
  if (map === undefined) throw changedMeanwhile(model, call.space);
  const columns = call.unpadded && !map ? Math.min(dimensions, model.nativeDimension) : dimensions;
  const vectors = map
    ? await projectOrReadCache(context, map, native, { nativeDimension: model.nativeDimension, dimensions }, signal)
    : resizeVectors(native.vectors, model.nativeDimension, columns);
  if (!call.keepNative && vectors !== native.vectors) freeMemory(native.vectors);
  if (!map) context.backends.noteUncalibratedUse(model);
  let tokens = 0;
  for (const each of native.tokens) tokens += each;
  return {
    vectors,
    columns,
    native: call.keepNative ? native.vectors : null,
    tokens,
    textTokens: native.tokens,
    // Use the space of the map that was applied, because another map may be active by now.
    space: map?.space ?? nativeSpaceOf(model),
    effectiveDimensions: Math.min(dimensions, map?.rank ?? model.nativeDimension),
    projection: map
      ? `${map.space}; map=${map.version}${map.score === null ? '' : `; score=${map.score.toFixed(2)}`}`
      : describeUncalibrated(projections.stateOf(model)),
    mapVersion: map?.version ?? null,
  };
}

/** Describe the vectors of a model without a map: `uncalibrated`, with the state of a calibration. */
function describeUncalibrated(state: CalibrationState | null): string {
  if (state?.state === 'calibrating') {
    const share = state.textsTotal === 0 ? 0 : state.textsDone / state.textsTotal;
    return `uncalibrated; status=calibrating; progress=${Math.min(1, share).toFixed(2)}`;
  }
  if (state?.state === 'apart') return `uncalibrated; status=apart; score=${(state.score ?? 0).toFixed(2)}`;
  return 'uncalibrated';
}

/** Create the error for a map that was retired after the model was chosen. */
function changedMeanwhile(model: Model, space: string | null): AppError {
  return new AppError({
    code: 'projection_unusable',
    status: 503,
    message: `the map of ${model.id} into ${space} is no longer in use; try again`,
    retryable: true,
    retryAfterSeconds: 1,
  });
}

async function projectOrReadCache(
  { projector, projected }: ModelContext,
  map: ActiveMap,
  native: Pick<NativeReply, 'vectors' | 'keys'>,
  shape: { nativeDimension: number; dimensions: number },
  signal: AbortSignal,
): Promise<Float32Array> {
  const cached = native.keys ? projected.get(native.keys, map, shape.dimensions) : null;
  if (cached) return cached;
  const vectors = await projector.project(map, native.vectors, shape, signal);
  if (native.keys) projected.set(native.keys, map, shape.dimensions, vectors);
  return vectors;
}
