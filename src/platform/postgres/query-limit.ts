import { AppError } from '../errors.ts';
import type { FairGate } from '../fair-gate.ts';
import { type CancellableQuery, cancelQuery } from './cancel-query.ts';

/** Times after which a query is cancelled, by kind of work, in milliseconds. Migrations and waits for locks have none. */
export const QUERY_MS = {
  /** Look-ups of a search, whose filter is the caller's. */
  search: 5_000,
  /** Lists and summaries. */
  report: 15_000,
  /** Changes of many documents. */
  edit: 30_000,
  /** Every other query, those of background work included. */
  other: 120_000,
} as const;

/** Bound on each query of an executor. */
export interface QueryLimit {
  readonly ms: number;
  /** Cancels the queries in progress, for example when the client of a request is gone. */
  readonly signal?: AbortSignal | undefined;
  /** Share of the connections that the owner of the queries has; a query waits for a place in it. */
  readonly share?: { readonly gate: FairGate; readonly owner: string } | undefined;
}

/** SQLSTATE query_canceled and in_failed_sql_transaction (PostgreSQL manual, appendix A). */
const QUERY_CANCELED = '57014';
const IN_FAILED_TRANSACTION = '25P02';
/** Time after which a statement that waits for another one of its transaction is looked at again. */
const WAITING_MS = 20;

/** Members of postgres.js's Query (src/query.js) that this file relies on; the tests pin them. */
interface LimitedQuery extends CancellableQuery {
  reject: (error: unknown) => void;
}

/**
 * Cancel a query at the end of its time and when the signal aborts. The cancellation is sent on a connection of its
 * own, so that it works through proxies; the query then rejects with `query_timeout`, or the signal's reason.
 */
export function limitQuery(query: LimitedQuery, limit: QueryLimit): void {
  limitBy(query, limit, () => {
    cancelQuery(query);
    return () => undefined;
  });
}

/**
 * Limit a statement of a transaction, whose time PostgreSQL keeps itself (`statement_timeout`). A cancellation sent at the
 * same moment would often arrive after the statement had ended and cancel the next one; this one is only for a PostgreSQL
 * that no longer answers.
 *
 * A statement that waits for another one is cancelled once it is its turn, unless it fails with the other. postgres.js 3.4.9
 * drops one that is cancelled before that, and its connection does nothing for ever.
 */
export function limitStatement(query: LimitedQuery, limit: QueryLimit): void {
  limitBy(query, { ...limit, ms: limit.ms + 5_000 }, () => {
    const cancelIfActive = () => {
      if (!query.active) return;
      clearInterval(waiting);
      cancelQuery(query);
    };
    const waiting = setInterval(cancelIfActive, WAITING_MS);
    cancelIfActive();
    return () => clearInterval(waiting);
  });
}

/** @param cancelOnce called once at most; it returns what is done when the query has ended */
function limitBy(query: LimitedQuery, { ms, signal }: QueryLimit, cancelOnce: () => () => void): void {
  if (signal?.aborted) {
    query.reject(signal.reason);
    return;
  }
  let cause: { readonly error: unknown } | null = null;
  let onEnd: (() => void) | undefined;
  const cancel = (error: unknown) => {
    if (cause !== null) return;
    cause = { error };
    onEnd = cancelOnce();
  };
  const timer = setTimeout(() => cancel(queryTimeout(ms)), ms).unref();
  const onAbort = () => cancel(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  const { reject } = query;
  query.reject = (error) => reject(cause !== null && failsByCancel(error) ? cause.error : error);
  const stop = () => {
    clearTimeout(timer);
    onEnd?.();
    signal?.removeEventListener('abort', onAbort);
  };
  // `then` of the class would send the query.
  Promise.prototype.then.call(query as unknown as Promise<unknown>, stop, stop);
}

/** Return the shorter of two limits, which both signals can end. */
export function bothLimits(outer: QueryLimit | null, inner: QueryLimit): QueryLimit {
  if (outer === null) return inner;
  const signals = [outer.signal, inner.signal].filter((signal) => signal !== undefined);
  const signal = signals.length === 2 ? AbortSignal.any(signals) : signals[0];
  return { ms: Math.min(outer.ms, inner.ms), signal, share: inner.share ?? outer.share };
}

/** Wait for a place in the share of a limit, if it has one, and do the work in it. */
export function inShare<T>(limit: QueryLimit | null, work: () => Promise<T>): Promise<T> {
  const { share, signal = NEVER } = limit ?? {};
  return share === undefined ? work() : share.gate.run(share.owner, work, () => signal);
}

const NEVER = new AbortController().signal;

export function isCanceled(error: unknown): boolean {
  return codeOf(error) === QUERY_CANCELED;
}

/** Return true for the error of a cancelled statement, and of those after it in its transaction. */
function failsByCancel(error: unknown): boolean {
  return isCanceled(error) || codeOf(error) === IN_FAILED_TRANSACTION;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/** Create the error for a query that was cancelled at the end of its time. */
export function queryTimeout(ms: number | null, cause?: unknown): AppError {
  const time = ms === null ? 'its time' : `${ms / 1000} s`;
  return new AppError({
    code: 'query_timeout',
    status: 503,
    message: `the database did not answer within ${time}; ask for less, or try again later`,
    retryable: true,
    retryAfterSeconds: 5,
    cause,
  });
}
