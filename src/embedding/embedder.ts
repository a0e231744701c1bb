import { requireModelAllowed } from '../access/key-limits.ts';
import type { Model } from '../models/catalog.ts';
import type { CountedTokens } from '../models/count-tokens.ts';
import type { TaskType } from '../models/task-types.ts';
import { type Deadline, startDeadline } from '../platform/deadline.ts';
import { AppError } from '../platform/errors.ts';
import type { Metrics } from '../platform/metrics.ts';
import { traced } from '../platform/tracing.ts';
import { runForOrganization } from '../platform/work-context.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { Account, Charge } from '../usage/account.ts';
import type { Meter } from '../usage/meter.ts';
import type { Backends } from './backends.ts';
import { embedWithModel, type ModelAnswer, type ModelContext } from './embed-with-model.ts';
import {
  chooseJobModels,
  chooseModels,
  dimensionsOf,
  fallbackOf,
  isUnavailable,
  type JobModels,
  type ModelRequest,
  requireAvailable,
  type VectorOrigin,
} from './model-choice.ts';
import type { Routing } from './routing-store.ts';

export interface EmbedRequest {
  readonly texts: readonly string[];
  /** Catalog id. If absent, the organization's routing decides. */
  readonly model?: string | undefined;
  /** Output dimension, 1..4096. If absent, the model's default. Ignored by fixed-dimension models. */
  readonly dimensions?: number | null | undefined;
  readonly taskType?: TaskType | null | undefined;
  readonly orgId: string;
  /** Account to charge. Null for the operator's test, or if the caller meters (a bulk job reserves on submission). */
  readonly charge: Charge | null;
  /**
   * Stored vectors that the new ones must be comparable with. All new ones then come from one model and may have any
   * dimension. Null: none are stored yet, so the routing decides. Undefined: no comparison is needed.
   */
  readonly comparableWith?: VectorOrigin | null | undefined;
  /** Also return the model's native vectors, if all are of one model. */
  readonly keepNative?: boolean;
  /**
   * Leave out zeros behind the dimensions that the model has, if all vectors are of one model. In hundreds of
   * concurrent requests, zeros would take several times the memory of the vectors.
   */
  readonly unpadded?: boolean;
  /** Keep the vectors out of the caches, because a job would evict texts that requests repeat. */
  readonly isBulk?: boolean;
  /**
   * True if a job waits for the vectors, not a client. A slow model then gets the time limit of a job, not of a
   * request.
   */
  readonly isForJob?: boolean;
  /**
   * Meter the tokens that the vendor reports. By default, count them ourselves if the vocabulary is known. This is for
   * the service's internal work, because counting takes longer than the rest of the work on a text.
   */
  readonly takesVendorTokens?: boolean;
  /** Token counts of the texts, if known. If another model embeds a text, it is counted again. */
  readonly counted?: CountedTokens | null;
  /** Use no fallback for the requested model. */
  readonly exactly?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface EmbeddedTexts {
  /** Float32Array [n x columns], row-major, each row L2-normalised, in the order of the texts. The caller owns it. */
  readonly vectors: Float32Array;
  /** `dimensions`, or fewer if `unpadded` was requested: the rest of each vector is zeros. */
  readonly columns: number;
  readonly dimensions: number;
  /** Model used. For a batch in several languages, the backends joined by `+`. */
  readonly model: string;
  readonly kind: 'lexical' | 'semantic';
  /** Latent space of the vectors. Only vectors of one space are comparable. */
  readonly space: string;
  readonly tokens: number;
  /** Tokens of each text, in the order of the texts. */
  readonly textTokens: readonly number[];
  /** Tokens times the operator's price for the model; 0 without a price. */
  readonly cost: number;
  /** Dimensions that carry information, without zero padding. */
  readonly effectiveDimensions: number;
  /** `canon-v1; map=3; score=0.97`, or `uncalibrated`. */
  readonly projection: string;
  /** Version of the map applied; null if none or several. */
  readonly mapVersion: number | null;
  /** Vectors before projection, if requested; null for a lexical model. */
  readonly native: NativeTexts | null;
  /** Origin to pass for later vectors that must be comparable with these. */
  readonly origin: VectorOrigin;
  /** Codes for the header `X-Service-Warning`. */
  readonly warnings: readonly string[];
  /** Metered amounts by model. */
  readonly used: readonly { readonly model: string; readonly texts: number; readonly tokens: number }[];
}

/** Vectors of a model before projection. */
export interface NativeTexts {
  /** Float32Array [n x dimension], row-major, rows of unit length. */
  readonly vectors: Float32Array;
  readonly dimension: number;
  readonly model: string;
  readonly revision: string;
}

/** Embeds texts as unit vectors: chooses the model, checks its limits, calls its provider, projects and meters. */
export interface Embedder {
  /**
   * @throws AppError `unknown_model`, `token_limit_exceeded`, `upstream_rejected` (400), `quota_exceeded` (402),
   *   `axis_not_in_plan`, `model_not_allowed` (403), `provider_unavailable` (502)
   */
  embed(request: EmbedRequest): Promise<EmbeddedTexts>;
  isAvailable(model: Model): boolean;
  /**
   * Refuse a request early if no model can serve it, or if its key may not use the model.
   *
   * @throws AppError `unknown_model` (400), `model_not_allowed` (403), `provider_unavailable` (502)
   */
  requireModel(account: Account, model: string | undefined): Promise<void>;
  /**
   * Find the fallback model to finish a bulk job whose model stays unavailable; null if the routing names none.
   *
   * @param request the requested model, and the requested dimension if there is one
   */
  fallbackForJob(
    orgId: string,
    request: { readonly model: string; readonly dimensions: number | null },
  ): Promise<{ model: Model; isComparable: boolean; dimensions: number } | null>;
  /**
   * Choose the models of a bulk job once, for all texts.
   *
   * @param request.sample texts from all parts of the job
   * @throws AppError `unknown_model` (400), `provider_unavailable` (502)
   */
  chooseForJob(
    orgId: string,
    request: Pick<ModelRequest, 'model' | 'dimensions'> & { readonly sample: readonly string[] },
  ): Promise<JobModels & Pick<EmbeddedTexts, 'warnings'>>;
}

export interface EmbedderContext extends ModelContext {
  /** Routing of an organization, for requests that name no model. */
  readonly routing: { of(orgId: string): Routing | Promise<Routing> };
  readonly meter: Meter;
  readonly metrics: Pick<Metrics, 'textsEmbedded' | 'tokensEmbedded'>;
  /** Time limit of a request, with its retries and its fallback. */
  readonly deadlineMs: number;
}

/** Share of the deadline for the primary model if it has a fallback. */
const PRIMARY_SHARE = 0.5;
/**
 * Time limit of the texts that a job sends at once. Calls to vendors have their own limit, so this one is for a hanging
 * model on this host. At 1 text per second, such a model computes 1,024 texts of concurrent calls in 17 minutes.
 */
const JOB_DEADLINE_MS = 30 * 60_000;

export function openEmbedder(context: EmbedderContext): Embedder {
  const { backends, routing, metrics } = context;
  return {
    isAvailable: (model) => backends.isAvailable(model),
    async requireModel({ orgId, limits }, model) {
      const { asked, stages } = chooseModels(backends, await routing.of(orgId), { model });
      requireModelAllowed(limits, asked.id);
      requireAvailable(backends, stages);
    },
    async fallbackForJob(orgId, request) {
      const fallback = fallbackOf(backends, await routing.of(orgId), request.model);
      if (fallback === null) return null;
      const isComparable = backends.areComparable([request.model, fallback.id]);
      const { dimensions } = dimensionsOf(fallback, { dimensions: request.dimensions });
      return { model: fallback, isComparable, dimensions };
    },
    async chooseForJob(orgId, request) {
      const chosen = await chooseJobModels(backends, await routing.of(orgId), request);
      return { ...chosen, warnings: warningsOf(backends, chosen.asked, chosen.isDimensionIgnored) };
    },
    async embed(request) {
      const { asked, stages } = chooseModels(backends, await routing.of(request.orgId), request);
      const { charge } = request;
      if (charge && !charge.internal) requireModelAllowed(charge.account.limits, asked.id);
      const reservation = charge
        ? await context.meter.reserve(charge.account, charge.axis, request.texts.length, {
            internal: charge.internal ?? false,
          })
        : null;
      const deadline = startDeadline(request.isForJob ? JOB_DEADLINE_MS : context.deadlineMs, request.signal, timedOut);
      try {
        const embedded = await traced(
          'embed texts',
          () => ({ 'service.texts': request.texts.length, 'service.model': stages[0]?.id ?? '' }),
          () => runForOrganization(request.orgId, () => embedInStages(context, request, stages, deadline)),
        );
        reservation?.settle([...embedded.used]);
        for (const { model, texts, tokens } of embedded.used) {
          metrics.textsEmbedded.inc({ model }, texts);
          metrics.tokensEmbedded.inc({ model }, tokens);
        }
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

/** Embed texts as an index stores them, `INDEX_DIMENSIONS` wide. `comparableWith` is null for an empty index. */
export function embedForIndex(
  embedder: Embedder,
  request: Omit<EmbedRequest, 'dimensions'> & { readonly comparableWith: VectorOrigin | null },
): Promise<EmbeddedTexts> {
  return embedder.embed({ ...request, dimensions: INDEX_DIMENSIONS });
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
      // The caller is responsible for a refusal by the requested model, but not for one by the fallback alone.
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
  const last = failures.at(-1);
  if (last !== undefined && !isUnavailable(last)) return refusedByFallback(stages, causes, last);
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    message: `the primary model and its fallback both failed (${causes.join('; ')}); try again later`,
    retryable: true,
    details: { causes },
    cause: last,
  });
}

/** Create the error for texts that the fallback permanently refuses, although the primary model may accept them. */
function refusedByFallback(stages: readonly Model[], causes: readonly string[], refusal: AppError): AppError {
  const [primary, fallback] = stages.map(({ id }) => id);
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    param: refusal.param,
    message:
      `the primary model is unavailable (${causes[0]}), and its fallback ${fallback} refused the request: ` +
      `${refusal.message}; a retry does not help while ${primary} is unavailable`,
    details: { causes },
    cause: refusal,
  });
}

/** Embed all texts with one model, or with the backends of the alias. */
async function embedAll(
  context: EmbedderContext,
  request: EmbedRequest,
  asked: Model,
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  const { texts } = request;
  const taskType = request.taskType ?? null;
  const { dimensions, isDimensionIgnored } = dimensionsOf(asked, request);
  const groups = await context.backends.choose(asked, texts, request.comparableWith !== undefined);
  const parts = await runAll(groups, signal, async ({ modelId, indexes }, ownSignal) => {
    const model = context.backends.catalog.find(modelId);
    const own = groups.length === 1 ? texts : indexes.map((index) => texts[index] as string);
    const { counted } = request;
    const call = {
      model,
      asked,
      texts: own,
      indexes,
      taskType,
      dimensions,
      space: request.comparableWith?.space ?? null,
      isBulk: request.isBulk ?? false,
      tokens: counted?.model === modelId ? indexes.map((index) => counted.tokens[index] as number) : null,
      takesVendorTokens: request.takesVendorTokens ?? false,
      keepNative: request.keepNative ?? false,
      unpadded: request.unpadded === true && groups.length === 1,
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
  const isMixed = asked.kind === 'alias' && context.backends.isAliasMixed;
  return {
    vectors: parts.length === 1 ? first.answer.vectors : reassemble(parts, texts.length, dimensions),
    columns: first.answer.columns,
    dimensions,
    model: parts.map(({ model }) => model.id).join('+'),
    kind: parts.some(({ model }) => model.kind === 'lexical') ? 'lexical' : 'semantic',
    space: first.answer.space,
    tokens: parts.reduce((sum, { answer }) => sum + answer.tokens, 0),
    textTokens: parts.length === 1 ? first.answer.textTokens : tokensInOrder(parts, texts.length),
    cost: parts.reduce((sum, { model, answer }) => sum + (answer.tokens * model.pricePerMillion) / 1e6, 0),
    effectiveDimensions: Math.min(...parts.map(({ answer }) => answer.effectiveDimensions)),
    projection: [...new Set(parts.map(({ answer }) => answer.projection))].join(', '),
    mapVersion: parts.length === 1 ? first.answer.mapVersion : null,
    native: parts.length === 1 ? nativeOf(first) : null,
    origin: {
      model: isMixed ? asked.id : first.model.id,
      revision: isMixed ? null : first.model.revision,
      space: first.answer.space,
    },
    warnings: warningsOf(context.backends, asked, isDimensionIgnored),
    used,
  };
}

/** Process all items concurrently. If one fails, abort the others. */
async function runAll<Item, Result>(
  items: readonly Item[],
  signal: AbortSignal,
  work: (item: Item, signal: AbortSignal) => Promise<Result>,
): Promise<Result[]> {
  const [only] = items;
  if (items.length === 1 && only !== undefined) return [await work(only, signal)];
  const abort = new AbortController();
  const anySignal = AbortSignal.any([signal, abort.signal]);
  try {
    return await Promise.all(items.map((item) => work(item, anySignal)));
  } catch (error) {
    abort.abort(error);
    throw error;
  }
}

function warningsOf(backends: Backends, asked: Model, isDimensionIgnored: boolean): string[] {
  const warnings = isDimensionIgnored ? ['dimensions-ignored'] : [];
  if (asked.kind === 'alias' && backends.isAliasUncalibrated) warnings.push('alias-not-calibrated');
  return warnings;
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

function tokensInOrder(parts: readonly { indexes: readonly number[]; answer: ModelAnswer }[], count: number): number[] {
  const tokens = new Array<number>(count).fill(0);
  for (const { indexes, answer } of parts) {
    for (const [row, index] of indexes.entries()) tokens[index] = answer.textTokens[row] as number;
  }
  return tokens;
}
