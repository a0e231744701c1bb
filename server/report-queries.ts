import { QUERY_MS, type Sql } from '../src/platform/postgres.ts';

/** Limit the queries of a list or a summary; they end when the client is gone. */
export function reportQueries(sql: Sql, signal: AbortSignal): Sql {
  return sql.limited({ ms: QUERY_MS.report, signal });
}
