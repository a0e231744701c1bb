import { answerWithin } from '../answer-within.ts';

/** Members of postgres.js's Query (src/query.js) by which it is cancelled; the tests pin them. */
export interface CancellableQuery {
  /** True once PostgreSQL works on it. */
  readonly active: boolean;
  canceller: ((query: CancellableQuery) => Promise<unknown>) | null;
}

/** Time in which PostgreSQL confirms a cancellation, unless it cannot be reached. */
const CONFIRMED_MS_MAX = 2_000;

/** Queries whose cancellation was sent; each resolves with true once PostgreSQL has confirmed it, else with false. */
const cancellations = new WeakMap<CancellableQuery, Promise<boolean>>();

/**
 * Cancel a query on a connection of its own. If PostgreSQL cannot be reached for this, it ends the query by itself once
 * it sees the socket closed. `cancel` of postgres.js 3.4.9 does not return its promise, so that nobody can handle its
 * rejection, which would end the process.
 */
export function cancelQuery(query: CancellableQuery): void {
  const { canceller } = query;
  query.canceller = null;
  if (canceller === null) return;
  const confirmed = answerWithin(CONFIRMED_MS_MAX, canceller(query)).then(
    () => true,
    () => false,
  );
  cancellations.set(query, confirmed);
}

/**
 * Return the confirmation of a query's cancellation; undefined if none was sent. PostgreSQL cancels what the connection
 * does when the request arrives. So the connection of a query that ended by itself meanwhile must not run another one
 * before this has resolved with true.
 */
export function cancellationOf(query: CancellableQuery): Promise<boolean> | undefined {
  return cancellations.get(query);
}
