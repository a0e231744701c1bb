import { type AppError, tryLater } from '../errors.ts';
import type { FairGate } from '../fair-gate.ts';

/** Query timeouts by kind of work, in ms. Migrations and waits for locks have none. */
export const QUERY_MS = {
  /** Look-ups of a search, whose filter the caller chooses. */
  search: 5_000,
  /** Lists and summaries. */
  report: 15_000,
  /** Changes of many documents. */
  edit: 30_000,
  /** Every other query, including background work. */
  other: 120_000,
} as const;

/** Limit on each query of an `Sql`. */
export interface QueryLimit {
  readonly ms: number;
  /** Cancels the queries in progress, for example when the client has disconnected. */
  readonly signal?: AbortSignal | undefined;
  /** Gate that limits the owner's share of the connections. Each query waits for a place in it. */
  readonly share?: { readonly gate: FairGate; readonly owner: string } | undefined;
}

/** SQLSTATE query_canceled and in_failed_sql_transaction (PostgreSQL manual, appendix A). */
const QUERY_CANCELED = '57014';
const IN_FAILED_TRANSACTION = '25P02';

/** Early end of work, by timeout or by its signal. */
export class Stop {
  /** Called once when the work has to end. */
  onStop: (error: unknown) => void = () => undefined;
  #cause: { readonly error: unknown } | null = null;

  /** Reason why the work has to end; null while it may continue. */
  get cause(): { readonly error: unknown } | null {
    return this.#cause;
  }

  stop(error: unknown): void {
    if (this.#cause !== null) return;
    this.#cause = { error };
    this.onStop(error);
  }

  /** Return the reason for the end if a statement failed because it was cancelled, else the error itself. */
  explain(error: unknown): unknown {
    return this.#cause !== null && failsByCancel(error) ? this.#cause.error : error;
  }
}

/**
 * Run work within a limit, once its share has a place. Work that is still waiting when the limit ends never starts.
 * @param ms time limit; null for one that PostgreSQL enforces
 * @throws AppError `query_timeout` after the timeout; the signal's reason
 */
export async function doWithin<T>(
  limit: QueryLimit | null,
  ms: number | null,
  work: (stop: Stop) => Promise<T>,
): Promise<T> {
  const stop = new Stop();
  if (limit === null) return work(stop);
  const { share, signal } = limit;
  signal?.throwIfAborted();
  const timer = ms === null ? undefined : setTimeout(() => stop.stop(queryTimeout(ms)), ms).unref();
  const onAbort = () => stop.stop(signal?.reason);
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await new Promise<T>((resolve, reject) => {
      stop.onStop = reject;
      const begin = async () => {
        // Nobody is waiting for the result any more.
        if (stop.cause !== null) throw stop.cause.error;
        return work(stop);
      };
      const running = share === undefined ? begin() : share.gate.run(share.owner, begin, () => signal ?? NEVER);
      running.then(resolve, reject);
    });
  } catch (error) {
    throw stop.explain(error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** Combine two limits: the shorter time, and both signals. */
export function bothLimits(outer: QueryLimit | null, inner: QueryLimit): QueryLimit {
  if (outer === null) return inner;
  const signals = [outer.signal, inner.signal].filter((signal) => signal !== undefined);
  const signal = signals.length === 2 ? AbortSignal.any(signals) : signals[0];
  return { ms: Math.min(outer.ms, inner.ms), signal, share: inner.share ?? outer.share };
}

const NEVER = new AbortController().signal;

export function isCanceled(error: unknown): boolean {
  return codeOf(error) === QUERY_CANCELED;
}

/** Return true for the error of a cancelled statement, or of a later statement in its transaction. */
function failsByCancel(error: unknown): boolean {
  return isCanceled(error) || codeOf(error) === IN_FAILED_TRANSACTION;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}

/** Create the error for a query that timed out. */
export function queryTimeout(ms: number | null, cause?: unknown): AppError {
  const time = ms === null ? 'its time' : `${ms / 1000} s`;
  return tryLater(`the database did not answer within ${time}; ask for less, or try again later`, 'query_timeout', {
    retryAfterSeconds: 5,
    cause,
  });
}
