/**
 * Run a query without keeping a prepared statement of it. postgres.js keeps one for every query text of a connection
 * until the connection closes; if callers determine the text, their number has no bound.
 * The tests pin the internals that this relies on (`Query.options.prepare` in postgres.js 3.4.9).
 */
export function unprepared<Q>(query: Q): Q {
  (query as { options?: { prepare?: boolean } }).options = {
    ...(query as { options?: object }).options,
    prepare: false,
  };
  return query;
}
