import type { Caller, Plan } from '../access/caller.ts';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import { FairGate } from '../platform/fair-gate.ts';
import type { Logger } from '../platform/logger.ts';
import type { SearchRequest, SearchResult } from '../search/schema.ts';
import { type SearchContext, searchBucket } from '../search/search.ts';
import type { AnswerConfig } from './schema.ts';

/**
 * Limits on concurrent channel searches in this process, in total and per organization. Without them, a burst of
 * deliveries would delay all replies.
 */
const CONCURRENT_SEARCHES = { runningMax: 8, runningOfOneMax: 4, waitingOfOneMax: 1_000 };
/** Time to search only by keyword after a query embedding was too slow. */
const KEYWORD_ONLY_MS = 10_000;
/** Share of the deadline after which a keyword search replaces the hybrid search. */
const HYBRID_SHARE = 0.65;
/** Number of results to fetch before removing near-duplicates. */
const RESULTS_WANTED = 12;
/** Maximum number of results per document, so that a reply has several sources. */
const PER_DOCUMENT_MAX = 3;
/** Auth level of documents that every user of a channel may see. */
const CHANNEL_AUTH_LEVEL = 1;

/** Result of a retrieval. `missing`: the channel's bucket or collection no longer exists. */
export type Retrieval =
  | { readonly kind: 'found'; readonly results: readonly SearchResult[] }
  | { readonly kind: 'late' }
  | { readonly kind: 'missing' | 'failed'; readonly reason: string };

/** Configuration that answers questions. */
export interface AnsweredChannel {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly config: AnswerConfig;
}

export interface RetrievalContext {
  readonly search: SearchContext;
  readonly logger: Logger;
  readonly load: SearchLoad;
}

/** Time limits for an answer. */
export interface AnswerTime {
  /** Arrival time of the delivery, by `performance.now()`. */
  readonly startMs: number;
  /** Time limit from arrival to the end of retrieval. */
  readonly deadlineMs: number;
}

/** State shared by all channel searches in this process. */
export interface SearchLoad {
  readonly slots: FairGate;
  /** Time by `performance.now()` until which queries are not embedded. */
  keywordOnlyUntilMs: number;
}

export function openSearchLoad(): SearchLoad {
  return { slots: new FairGate(CONCURRENT_SEARCHES), keywordOnlyUntilMs: 0 };
}

/** Return the caller for a channel's searches, which stands for users outside the organization. */
export function channelCaller({ id, orgId, config }: AnsweredChannel, plan: Plan): Caller {
  return {
    kind: 'channel',
    actor: `channel:${id}`,
    orgId,
    plan,
    userId: null,
    role: null,
    department: null,
    scopes: new Set(['search']),
    authLevel: CHANNEL_AUTH_LEVEL,
    outside: config.public_only ? 'public' : 'unrestricted',
  };
}

/**
 * Search the channel's bucket within the deadlines: hybrid first, then by keyword if the embedding is late or fails.
 * Never throw, since every delivery gets a reply.
 */
export async function retrievePassages(
  context: RetrievalContext,
  { channel, plan }: { readonly channel: AnsweredChannel; readonly plan: Plan },
  question: string,
  { startMs, deadlineMs }: AnswerTime,
): Promise<Retrieval> {
  const { search, logger, load } = context;
  const { config } = channel;
  const caller = channelCaller(channel, plan);
  const find = async (mode: SearchRequest['mode'], endMs: number): Promise<Retrieval> => {
    const request: SearchRequest = {
      query: question,
      top_k: RESULTS_WANTED,
      task: 'retrieval_query',
      mode,
      rerank: false,
      highlights: false,
      correct: true,
      collection: config.bucket_collection,
      max_per_document: PER_DOCUMENT_MAX,
    };
    const found = await within(endMs - performance.now(), (signal) =>
      load.slots.run(
        channel.orgId,
        () => searchBucket(search, caller, config.collection, request, signal),
        () => signal,
      ),
    );
    return { kind: 'found', results: found.results.filter(({ score }) => score >= config.score_min) };
  };
  const tries: [mode: 'hybrid' | 'keyword', endMs: number][] = [['keyword', startMs + deadlineMs]];
  if (performance.now() >= load.keywordOnlyUntilMs) tries.unshift(['hybrid', startMs + HYBRID_SHARE * deadlineMs]);
  let fault: unknown;
  for (const [mode, endMs] of tries) {
    try {
      return await find(mode, endMs);
    } catch (error) {
      const missing = missingCodeOf(error);
      if (missing !== null) return { kind: 'missing', reason: missing };
      fault = error;
      const isLate = mode === 'hybrid' && error instanceof DeadlinePassed;
      if (isLate) load.keywordOnlyUntilMs = performance.now() + KEYWORD_ONLY_MS;
    }
  }
  if (fault instanceof DeadlinePassed) return { kind: 'late' };
  logger.warn({ err: fault, channel: channel.id }, 'a delivery could not be answered');
  return { kind: 'failed', reason: fault instanceof AppError ? fault.code : 'internal' };
}

/** Return the error code for a missing bucket or collection, or null for any other error. */
function missingCodeOf(error: unknown): string | null {
  const isMissing = error instanceof AppError && ['bucket_not_found', 'collection_not_found'].includes(error.code);
  return isMissing ? error.code : null;
}

class DeadlinePassed extends Error {}

/** Return the result of the work. After `ms`, abort the work without waiting for it. @throws DeadlinePassed */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (ms <= 0) throw new DeadlinePassed('the deadline has passed');
  const abort = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new DeadlinePassed(`the work was not done within ${Math.round(ms)} ms`));
    abort.abort();
  }, ms);
  try {
    return await Promise.race([awaitLater(work(abort.signal)), passed]);
  } finally {
    clearTimeout(timer);
  }
}
