import type { FairGate } from '../src/platform/fair-gate.ts';
import { QUERY_MS, type QueryLimit, type Sql } from '../src/platform/postgres.ts';

/** Make the limit of the queries of a list or a summary. They end when the client disconnects. */
export function reportLimit(signal: AbortSignal): QueryLimit {
  return { ms: QUERY_MS.report, signal };
}

/** Limit the queries of a list or a summary. */
export function reportQueries(sql: Sql, signal: AbortSignal): Sql {
  return sql.limited(reportLimit(signal));
}

/** Limit the queries of a change. They continue when the client disconnects. */
export function editQueries(sql: Sql): Sql {
  return sql.limited({ ms: QUERY_MS.edit });
}

/**
 * Give each query a place in the share of an organization. Routes that read or store files use this; they would
 * otherwise hold a place all the time.
 */
export function sharedQueries(sql: Sql, gate: FairGate, orgId: string, signal?: AbortSignal): Sql {
  return sql.limited({ ms: QUERY_MS.edit, signal, share: { gate, owner: orgId } });
}
