import { requireModelAllowed } from '../access/key-limits.ts';
import { isUnavailable } from '../embedding/model-choice.ts';
import type { TokenCounters } from '../models/count-tokens.ts';
import { type Deadline, startDeadline } from '../platform/deadline.ts';
import { AppError } from '../platform/errors.ts';
import { traced } from '../platform/tracing.ts';
import { runForOrganization } from '../platform/work-context.ts';
import type { Account } from '../usage/account.ts';
import type { Meter } from '../usage/meter.ts';
import { axisOf } from '../usage/schema.ts';
import { cutTexts, refuseLongTexts, type TextTokens, tokensOfTexts } from './measure-texts.ts';
import type { Reranker } from './reranker.ts';
import type { RerankerList } from './reranker-list.ts';

export interface RerankRequest {
  readonly account: Account;
  /** Name of the reranker; undefined for the first one in the settings. */
  readonly model: string | undefined;
  readonly query: string;
  readonly texts: readonly string[];
  /** Length in tokens to truncate each text to, approximately; null for the limit of the model. */
  readonly tokensPerTextMax: number | null;
  /** True to refuse texts that are too long instead of truncating them. */
  readonly refusesLong: boolean;
  readonly signal: AbortSignal;
}

export interface RerankedTexts {
  /** Reranker that scored the texts. */
  readonly model: string;
  /** Score per text, in the order of the texts. */
  readonly scores: readonly number[];
  readonly tokens: number;
}

export type RerankTexts = (request: RerankRequest) => Promise<RerankedTexts>;

export interface RerankContext {
  readonly list: RerankerList;
  readonly counters: TokenCounters;
  readonly meter: Pick<Meter, 'reserve'>;
  /** Time limit of a request, including its retries and fallback. */
  readonly deadlineMs: number;
}

/** Share of the remaining time for a reranker that has a fallback. */
const STAGE_SHARE = 0.5;
const RETRIES_MAX = 2;

/**
 * Score texts for a request. Each text counts towards the quota like a text to embed.
 *
 * @throws AppError `unknown_model`, `token_limit_exceeded`, `upstream_rejected` (400), `quota_exceeded` (402),
 *   `axis_not_in_plan`, `model_not_allowed` (403), `provider_unavailable` (502)
 */
export async function rerankTexts(context: RerankContext, request: RerankRequest): Promise<RerankedTexts> {
  const { account, texts, signal } = request;
  const stages = context.list.choose(request.model);
  if (stages[0]) requireModelAllowed(account.limits, stages[0].id);
  const reservation = await context.meter.reserve(account, axisOf(texts), texts.length);
  const deadline = startDeadline(context.deadlineMs, signal, timedOut);
  try {
    const reranked = await traced(
      'rerank texts',
      () => ({ 'service.texts': texts.length, 'service.model': stages[0]?.id ?? '' }),
      () => runForOrganization(account.orgId, () => rerankInStages(context, request, stages, deadline)),
    );
    reservation.settle([{ model: reranked.model, texts: texts.length, tokens: reranked.tokens }]);
    return reranked;
  } catch (error) {
    await reservation.release();
    throw error;
  } finally {
    deadline.clear();
  }
}

async function rerankInStages(
  context: RerankContext,
  request: RerankRequest,
  stages: readonly Reranker[],
  deadline: Deadline,
): Promise<RerankedTexts> {
  const failures: AppError[] = [];
  for (const [index, reranker] of stages.entries()) {
    const isLast = index === stages.length - 1;
    try {
      return await rerankWith(context, request, reranker, deadline.leftMs() * (isLast ? 1 : STAGE_SHARE), deadline);
    } catch (error) {
      if (!(error instanceof AppError) || request.signal.aborted || stages.length === 1) throw error;
      // Blame the caller for a refusal by the requested reranker, but not for one by its fallback.
      if (index === 0 && !isUnavailable(error)) throw error;
      failures.push(error);
    }
  }
  const causes = failures.map((failure, at) => `${stages[at]?.id}: ${failure.details?.['cause'] ?? failure.code}`);
  throw new AppError({
    code: 'provider_unavailable',
    status: 502,
    message: `all rerankers failed (${causes.join('; ')}); try again later`,
    retryable: true,
    details: { causes },
    cause: failures.at(-1),
  });
}

async function rerankWith(
  { list, counters }: RerankContext,
  request: RerankRequest,
  reranker: Reranker,
  timeoutMs: number,
  { signal }: Deadline,
): Promise<RerankedTexts> {
  const { query, tokensPerTextMax, refusesLong } = request;
  const installed = list.installed(reranker.id);
  let tokens: TextTokens | null = null;
  const count = async () => (tokens ??= await tokensOfTexts(counters, reranker.id, installed, request, signal));
  if (refusesLong && installed) refuseLongTexts(installed, await count());
  const texts = tokensPerTextMax === null ? request.texts : cutTexts(request.texts, await count(), tokensPerTextMax);
  const task = { query, texts, timeoutMs, retriesMax: RETRIES_MAX, refusesLong };
  const { scores, tokens: reported } = await reranker.score(task, signal);
  if (reported !== null) return { model: reranker.id, scores, tokens: reported };
  const { ofQuery, ofTexts } = await count();
  const ofPair = (own: number) =>
    Math.min(ofQuery + Math.min(own, tokensPerTextMax ?? own), installed?.maxTokens ?? Number.POSITIVE_INFINITY);
  return { model: reranker.id, scores, tokens: ofTexts.reduce((sum, own) => sum + ofPair(own), 0) };
}

function timedOut(): AppError {
  return new AppError({
    code: 'provider_unavailable',
    status: 502,
    message: 'no reranker answered in time; try again, or send fewer documents',
    retryable: true,
    details: { cause: 'timeout' },
  });
}
