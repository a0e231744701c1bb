import pLimit, { type LimitFunction } from 'p-limit';
import type { Caller, Plan } from '../access/caller.ts';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { SearchRequest, SearchResult } from '../search/schema.ts';
import { type SearchContext, searchBucket } from '../search/search.ts';
import type { Channel } from './configs.ts';

/**
 * Searches at a time, of all channels in this process. More of them at once would only be later, each of them: a crowd
 * of deliveries must not make all of them late.
 */
const SEARCHES_AT_ONCE = 8;
/** Time for which searches go by keyword alone after one whose query was not embedded in time. */
const KEYWORD_ONLY_MS = 10_000;
/** Share of the deadline after which a search whose query is not embedded yet goes on by keyword alone. */
const HYBRID_SHARE = 0.65;
/** Results of a search; near-duplicates among them are left out afterwards. */
const RESULTS_WANTED = 12;
/** Results of one document: an answer should not come from one file alone. */
const PER_DOCUMENT_MAX = 3;
/** Privacy level of the documents that everybody who can write to a channel may see. */
const CHANNEL_AUTH_LEVEL = 1;

/** Outcome of a retrieval; `gone`: the bucket or the collection of the channel does not exist any more. */
export type Retrieval =
  | { readonly kind: 'found'; readonly results: readonly SearchResult[] }
  | { readonly kind: 'late' }
  | { readonly kind: 'gone' | 'failed'; readonly reason: string };

export interface RetrievalContext {
  readonly search: SearchContext;
  readonly logger: Logger;
  /** Bound from the arrival of a delivery to the end of its retrieval. */
  readonly deadlineMs: number;
  readonly pace: SearchPace;
}

/** Load of the searches of all channels in this process. */
export interface SearchPace {
  readonly slots: LimitFunction;
  /** Until then on the clock of `performance.now()`, queries are not embedded. */
  keywordOnlyUntilMs: number;
}

export function openSearchPace(): SearchPace {
  return { slots: pLimit(SEARCHES_AT_ONCE), keywordOnlyUntilMs: 0 };
}

/** Caller of a channel's searches: whoever writes to the messenger, outside the organization. */
export function channelCaller({ id, orgId, config }: Channel, plan: Plan): Caller {
  return {
    ...{ kind: 'channel', actor: `channel:${id}`, orgId, plan, userId: null, role: null, department: null },
    scopes: new Set(['search']),
    authLevel: CHANNEL_AUTH_LEVEL,
    outside: config.public_only ? 'public' : 'unrestricted',
  };
}

/**
 * Search the channel's bucket, within the deadlines: by words and meaning, and by words alone where the embedding does
 * not come in time or fails. It never throws: whoever writes to the messenger gets a reply.
 *
 * @param beganMs start of the delivery on the clock of `performance.now()`
 */
export async function retrievePassages(
  context: RetrievalContext,
  { channel, plan }: { readonly channel: Channel; readonly plan: Plan },
  question: string,
  beganMs: number,
): Promise<Retrieval> {
  const { search, logger, deadlineMs, pace } = context;
  const { config } = channel;
  const caller = channelCaller(channel, plan);
  const find = async (mode: SearchRequest['mode'], endMs: number): Promise<Retrieval> => {
    const request: SearchRequest = {
      ...{ query: question, top_k: RESULTS_WANTED, task: 'retrieval_query', mode, rerank: false },
      ...{ collection: config.bucket_collection, max_per_document: PER_DOCUMENT_MAX },
    };
    const found = await within(endMs - performance.now(), (signal) =>
      pace.slots(() => {
        signal.throwIfAborted();
        return searchBucket(search, caller, config.collection, request, signal);
      }),
    );
    return { kind: 'found', results: found.results.filter(({ score }) => score >= config.score_min) };
  };
  const tries: [mode: 'hybrid' | 'keyword', endMs: number][] = [['keyword', beganMs + deadlineMs]];
  if (performance.now() >= pace.keywordOnlyUntilMs) tries.unshift(['hybrid', beganMs + HYBRID_SHARE * deadlineMs]);
  let fault: unknown;
  for (const [mode, endMs] of tries) {
    try {
      return await find(mode, endMs);
    } catch (error) {
      const gone = reasonOfGone(error);
      if (gone !== null) return { kind: 'gone', reason: gone };
      fault = error;
      const isLate = mode === 'hybrid' && error instanceof DeadlinePassed;
      if (isLate) pace.keywordOnlyUntilMs = performance.now() + KEYWORD_ONLY_MS;
    }
  }
  if (fault instanceof DeadlinePassed) return { kind: 'late' };
  logger.warn({ err: fault, channel: channel.id }, 'a delivery could not be answered');
  return { kind: 'failed', reason: fault instanceof AppError ? fault.code : 'internal' };
}

function reasonOfGone(error: unknown): string | null {
  const isGone = error instanceof AppError && ['bucket_not_found', 'collection_not_found'].includes(error.code);
  return isGone ? error.code : null;
}

class DeadlinePassed extends Error {}

/** Result of the work, if it comes in time; else the work is aborted and left alone, also where it does not end. */
async function within<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  if (ms <= 0) throw new DeadlinePassed('no time left');
  const abort = new AbortController();
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(new DeadlinePassed(`not done within ${Math.round(ms)} ms`));
    abort.abort();
  }, ms);
  try {
    return await Promise.race([awaitLater(work(abort.signal)), passed]);
  } finally {
    clearTimeout(timer);
  }
}
