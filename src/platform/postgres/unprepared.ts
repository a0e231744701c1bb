/**
 * Run a query without keeping a prepared statement of it. postgres.js keeps one for every shape of query that a
 * connection has seen, for as long as it lives: for a query of which callers choose the shape, that never ends.
 * What it relies on (`Query.options.prepare` in postgres.js 3.4.9) is pinned by the tests.
 */
export function unprepared<Q>(query: Q): Q {
  (query as { options?: { prepare?: boolean } }).options = {
    ...(query as { options?: object }).options,
    prepare: false,
  };
  return query;
}
