import { Statement } from './query.ts';

/**
 * Run a query without keeping a prepared statement of it. postgres.js keeps one for every query text of a connection
 * until the connection closes; if callers determine the text, their number has no bound.
 */
export function unprepared<Q>(query: Q): Q {
  if (query instanceof Statement) query.isPrepared = false;
  return query;
}
