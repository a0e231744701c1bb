import type postgres from 'postgres';
import type { CancellableQuery } from './cancel-query.ts';

/** A client, transaction or savepoint of postgres.js. */
export type AnyClient = postgres.ISql<Record<never, never>>;

/** Members of postgres.js's Query (src/query.js) that the pool relies on; the tests pin them. */
export interface PendingQuery extends CancellableQuery {
  /** True once it was cancelled before it was sent. */
  cancelled: unknown;
  /** Set for a cursor. */
  readonly cursorRows: number | undefined;
  /** Set for a COPY, which goes on after the query has resolved. */
  readonly streaming: boolean;
  handler: (query: PendingQuery) => void;
  reject: (error: unknown) => void;
}

/** Call back with the error of a query before its caller can act on it. */
export function onReject(query: PendingQuery, callback: (error: unknown) => void): void {
  const { reject } = query;
  query.reject = (error) => {
    callback(error);
    reject(error);
  };
}

/** Call back once a query has succeeded or failed. Unlike `then` of its class, this does not send it. */
export function onSettled(query: PendingQuery, done: () => void): void {
  Promise.prototype.then.call(query as unknown as Promise<unknown>, done, done);
}

/** Wait until a query has succeeded or failed. */
export function settled(query: PendingQuery): Promise<void> {
  return new Promise((resolve) => onSettled(query, resolve));
}

/** Get the function by which a client or transaction runs a query. */
export function submitOf(client: AnyClient): PendingQuery['handler'] {
  return (client.unsafe('') as unknown as PendingQuery).handler; // this query never runs: queries are lazy
}
