import { Statement } from './query.ts';

/**
 * Run a query without keeping its prepared statement. postgres.js keeps one per query text until the connection closes.
 * If callers determine the text, the number of statements is unbounded.
 */
export function unprepared<Q>(query: Q): Q {
  if (query instanceof Statement) query.isPrepared = false;
  return query;
}
