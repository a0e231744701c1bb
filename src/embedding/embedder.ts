import type { Model } from '../models/catalog.ts';
import type { TaskType } from '../models/task-types.ts';
import { AppError } from '../platform/errors.ts';
import type { Metrics } from '../platform/metrics.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { Account, Meter } from '../usage/meter.ts';
import type { Axis } from '../usage/schema.ts';
import { type Deadline, startDeadline } from './deadline.ts';
import { embedWithModel, type ModelAnswer, type ModelContext } from './embed-with-model.ts';
import {
  chooseJobModels,
  chooseModels,
  dimensionsOf,
  isUnavailable,
  type JobModels,
  type ModelRequest,
  requireAvailable,
} from './model-choice.ts';
import type { Routing } from './routing-store.ts';

/** Whose quota a call counts against. */
export interface Charge {
  readonly account: Account;
  readonly axis: Axis;
  /** Made inside the service (search, ingest), not asked for by a client as such. */
  readonly internal?: boolean;
}

export interface EmbedRequest {
  readonly texts: readonly string[];
  /** Catalog id; the organization's routing decides when it is absent. */
  readonly model?: string | undefined;
  /** Output dimension, 1..4096; the model's default when absent. Ignored by fixed-dimension models. */
  readonly dimensions?: number | null | undefined;
  readonly taskType?: TaskType | null | undefined;
  readonly orgId: string;
  /** Null: the operator's own trial, or metered by whoever calls (a bulk job reserves at submit). */
  readonly charge: Charge | null;
  /**
   * For vectors that are stored and searched: `INDEX_DIMENSIONS` wide whatever the model's own flag, all of one model,
   * and always of the space that the organization's primary model gives; nothing incomparable steps in for it.
   */
  readonly forIndex?: boolean;
  /** With `forIndex`: give the model's own vectors, too. */
  readonly keepNative?: boolean;
  /** Keep its vectors out of the caches: a job would push out what requests ask for again. */
  readonly isBulk?: boolean;
  /** Nothing steps in for the model that is asked for. */
  readonly exactly?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddedTexts {
  /** Float32Array [n x dimensions], row-major, each row L2-normalised, in the order of the texts; the caller's own. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
  /** The model that was really used; of a batch in several languages the backends joined by `+`. */
  readonly model: string;
  readonly kind: 'lexical' | 'semantic';
  /** Latent space of the vectors: only vectors of one space can be compared. */
  readonly space: string;
  readonly tokens: number;
  /** Tokens times the price that the operator gave the model; 0 where none is set. */
  readonly cost: number;
  /** Informative dimensions where the rest is zero padding, else `dimensions`. */
  readonly effectiveDimensions: number;
  /** `canon-v1; map=3; score=0.97`, or `uncalibrated`. */
  readonly projection: string;
  /** The map that they went through; null: none, or several. */
  readonly mapVersion: number | null;
  /** The vectors before projection, where they were asked for; null for a lexical model. */
  readonly native: NativeTexts | null;
  /** Codes for the header `X-Service-Warning`. */
  readonly warnings: readonly string[];
  /** What is metered, by the models that were really used. */
  readonly used: readonly { readonly model: string; readonly texts: number; readonly tokens: number }[];
}

/** Vectors as a model gave them. */
export interface NativeTexts {
  /** Float32Array [n x dimension], row-major, rows of unit length. */
  readonly vectors: Float32Array;
  readonly dimension: number;
  readonly model: string;
  readonly revision: string;
}

/** Texts in, unit vectors out: picks the model, keeps its limits, calls its provider, projects, meters. */
export interface Embedder {
  /**
   * @throws AppError `unknown_model`, `token_limit_exceeded`, `upstream_rejected` (400), `quota_exceeded` (402),
   *   `axis_not_in_plan` (403), `provider_unavailable` (502)
   */
  embed(request: EmbedRequest): Promise<EmbeddedTexts>;
  isAvailable(model: Model): boolean;
  /**
   * Refuse what could not be embedded anyway, before work is done for it.
   *
   * @throws AppError `unknown_model` (400), `provider_unavailable` (502)
   */
  requireModel(orgId: string, model: string | undefined): Promise<void>;
  /**
   * Decide who embeds a bulk job, once for all of its texts.
   *
   * @param request.sample texts from all over the job
   * @throws AppError `unknown_model` (400), `provider_unavailable` (502)
   */
  chooseForJob(
    orgId: string,
    request: Pick<ModelRequest, 'model' | 'dimensions'> & { readonly sample: readonly string[] },
  ): Promise<JobModels>;
}

export interface EmbedderContext extends ModelContext {
  /** Which model embeds what names none. */
  readonly routing: { of(orgId: string): Routing | Promise<Routing> };
  readonly meter: Meter;
  readonly metrics: Pick<Metrics, 'textsEmbedded'>;
  /** Of a request, its retries and its fallback together. */
  readonly deadlineMs: number;
}

/** Share of the deadline that the primary may use where a fallback waits. */
const PRIMARY_SHARE = 0.5;

export function openEmbedder(context: EmbedderContext): Embedder {
  const { backends, routing } = context;
  return {
    isAvailable: (model) => backends.isAvailable(model),
    async requireModel(orgId, model) {
      requireAvailable(backends, chooseModels(backends, await routing.of(orgId), { model }).stages);
    },
    async chooseForJob(orgId, request) {
      return chooseJobModels(backends, await routing.of(orgId), request);
    },
    async embed(request) {
      const { stages } = chooseModels(backends, await routing.of(request.orgId), request);
      const { charge } = request;
      const reservation = charge
        ? await context.meter.reserve(charge.account, charge.axis, request.texts.length, {
            internal: charge.internal ?? false,
          })
        : null;
      const deadline = startDeadline(context.deadlineMs, request.signal, timedOut);
      try {
        const embedded = await embedInStages(context, request, stages, deadline);
        reservation?.settle([...embedded.used]);
        for (const { model, texts } of embedded.used) context.metrics.textsEmbedded.inc({ model }, texts);
        return embedded;
      } catch (error) {
        await reservation?.release();
        throw error;
      } finally {
        deadline.clear();
      }
    },
  };
}

/** Vectors as the index stores them. */
export function embedForIndex(
  embedder: Embedder,
  request: Omit<EmbedRequest, 'dimensions' | 'forIndex'>,
): Promise<EmbeddedTexts> {
  return embedder.embed({ ...request, dimensions: INDEX_DIMENSIONS, forIndex: true });
}

function timedOut(): AppError {
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    message: 'no provider answered in time; try again',
    retryable: true,
    details: { cause: 'timeout' },
  });
}

async function embedInStages(
  context: EmbedderContext,
  request: EmbedRequest,
  stages: readonly Model[],
  deadline: Deadline,
): Promise<EmbeddedTexts> {
  const failures: AppError[] = [];
  for (const [index, model] of stages.entries()) {
    const isLast = index === stages.length - 1;
    const stage = isLast ? null : startDeadline(deadline.leftMs() * PRIMARY_SHARE, deadline.signal, timedOut);
    try {
      return await embedAll(context, request, model, stage?.signal ?? deadline.signal);
    } catch (error) {
      if (!(error instanceof AppError) || request.signal?.aborted || stages.length === 1) throw error;
      // What the model that was asked for refuses is the caller's fault; what only its stand-in refuses is not.
      if (index === 0 && !isUnavailable(error)) throw error;
      failures.push(error);
    } finally {
      stage?.clear();
    }
  }
  throw allFailed(stages, failures);
}

function allFailed(stages: readonly Model[], failures: readonly AppError[]): AppError {
  const causes = failures.map(
    (failure, index) => `${stages[index]?.id}: ${String(failure.details?.['cause'] ?? failure.code)}`,
  );
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    message: `the primary model and its fallback both failed (${causes.join('; ')})`,
    retryable: true,
    details: { causes },
    cause: failures.at(-1),
  });
}

/** All texts by one model, or by the backends that the alias stands for. */
async function embedAll(
  context: EmbedderContext,
  request: EmbedRequest,
  asked: Model,
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  const { texts } = request;
  const taskType = request.taskType ?? null;
  const { dimensions, isDimensionIgnored } = dimensionsOf(asked, request);
  const groups = await context.backends.choose(asked, texts, request.forIndex ?? false);
  const parts = await allOrNone(groups, signal, async ({ modelId, indexes }, ownSignal) => {
    const model = context.backends.catalog.find(modelId);
    const own = groups.length === 1 ? texts : indexes.map((index) => texts[index] as string);
    const call = {
      model,
      texts: own,
      indexes,
      taskType,
      dimensions,
      isBulk: request.isBulk ?? false,
      keepNative: request.keepNative ?? false,
      signal: ownSignal,
    };
    return { model, indexes, answer: await embedWithModel(context, call) };
  });
  const used = parts.map(({ model, indexes, answer }) => ({
    model: model.id,
    texts: indexes.length,
    tokens: answer.tokens,
  }));
  const [first] = parts;
  if (!first) throw new Error('nothing to embed');
  return {
    vectors: parts.length === 1 ? first.answer.vectors : reassemble(parts, texts.length, dimensions),
    dimensions,
    model: parts.map(({ model }) => model.id).join('+'),
    kind: parts.some(({ model }) => model.kind === 'lexical') ? 'lexical' : 'semantic',
    space: first.answer.space,
    tokens: parts.reduce((sum, { answer }) => sum + answer.tokens, 0),
    cost: parts.reduce((sum, { model, answer }) => sum + (answer.tokens * model.pricePerMillion) / 1e6, 0),
    effectiveDimensions: Math.min(...parts.map(({ answer }) => answer.effectiveDimensions)),
    projection: [...new Set(parts.map(({ answer }) => answer.projection))].join(', '),
    mapVersion: parts.length === 1 ? first.answer.mapVersion : null,
    native: parts.length === 1 ? nativeOf(first) : null,
    warnings: isDimensionIgnored ? ['dimensions-ignored'] : [],
    used,
  };
}

/** Do all at once; when one fails, the others have nobody left to work for and are aborted. */
async function allOrNone<Item, Result>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return [await work(only, signal)];
  const abort = new AbortController();
  const together = AbortSignal.any([signal, abort.signal]);
  try {
    return await Promise.all(items.map((item) => work(item, together)));
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

function nativeOf({ model, answer }: { model: Model; answer: ModelAnswer }): NativeTexts | null {
  if (model.kind === 'lexical' || answer.native === null) return null;
  return { vectors: answer.native, dimension: model.nativeDimension, model: model.id, revision: model.revision };
}

function reassemble(
  parts: readonly { indexes: readonly number[]; answer: ModelAnswer }[],
  count: number,
  dimensions: number,
): Float32Array {
  const vectors = new Float32Array(count * dimensions);
  for (const { indexes, answer } of parts) {
    for (const [row, index] of indexes.entries()) {
      vectors.set(answer.vectors.subarray(row * dimensions, (row + 1) * dimensions), index * dimensions);
    }
  }
  return vectors;
}

/** The axis of a request by how many texts it has. */
export function axisOf(texts: readonly string[]): Axis {
  return texts.length === 1 ? 'embed' : 'embed_batch';
}
