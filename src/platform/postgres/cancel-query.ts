/** Member of postgres.js's Query (src/query.js) that cancels it; the tests pin it. */
export interface CancellableQuery {
  canceller: ((query: CancellableQuery) => Promise<unknown>) | null;
}

/**
 * Cancel a query on a connection of its own. If PostgreSQL cannot be reached for this, it ends the query by itself once
 * it sees the socket closed. `cancel` of postgres.js 3.4.9 does not return its promise, so that nobody can handle its
 * rejection, which would end the process.
 */
export function cancelQuery(query: CancellableQuery): void {
  const { canceller } = query;
  query.canceller = null;
  canceller?.(query).catch(() => undefined);
}
