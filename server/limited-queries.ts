import type { FairGate } from '../src/platform/fair-gate.ts';
import { QUERY_MS, type QueryLimit, type Sql } from '../src/platform/postgres.ts';

/** Create the query limit of a list or summary. Its queries end when the client disconnects. */
export function reportLimit(signal: AbortSignal): QueryLimit {
  return { ms: QUERY_MS.report, signal };
}

/** Limit the queries of a list or summary. */
export function reportQueries(sql: Sql, signal: AbortSignal): Sql {
  return sql.limited(reportLimit(signal));
}

/** Limit the queries of a change. They continue when the client disconnects. */
export function editQueries(sql: Sql): Sql {
  return sql.limited({ ms: QUERY_MS.edit });
}

/**
 * Make each query take a place in its organization's share. Routes that read or store files use this, since they would
 * otherwise hold a place all the time.
 */
export function sharedQueries(sql: Sql, gate: FairGate, orgId: string, signal?: AbortSignal): Sql {
  return sql.limited({ ms: QUERY_MS.edit, signal, share: { gate, owner: orgId } });
}
