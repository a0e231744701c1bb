import type { Sql } from '../platform/postgres.ts';

/** Default model for requests that name none, and its fallback. */
export interface Routing {
  readonly primary: string;
  readonly fallback: string | null;
  readonly mode: 'fallback' | 'single';
  /** Null if the organization uses the default routing. */
  readonly updatedAt: Date | null;
}

interface RoutingRow {
  primary_model: string;
  fallback_model: string | null;
  mode: 'fallback' | 'single';
  updated_at: Date;
}

const toRouting = (row: RoutingRow): Routing => ({
  primary: row.primary_model,
  fallback: row.fallback_model,
  mode: row.mode,
  updatedAt: row.updated_at,
});

/** Read the routing of an organization, or return null if it never set one. */
export async function selectRouting(sql: Sql, orgId: string): Promise<Routing | null> {
  const [row] = await sql<RoutingRow[]>`
    SELECT primary_model, fallback_model, mode, updated_at FROM routing WHERE org_id = ${orgId}`;
  return row ? toRouting(row) : null;
}

export async function upsertRouting(
  sql: Sql,
  orgId: string,
  routing: { primary: string; fallback: string | null; mode: 'fallback' | 'single'; updatedBy: string },
): Promise<Routing> {
  const { primary, fallback, mode, updatedBy } = routing;
  const [row] = await sql<RoutingRow[]>`
    INSERT INTO routing (org_id, primary_model, fallback_model, mode, updated_at, updated_by)
    VALUES (${orgId}, ${primary}, ${fallback}, ${mode}, now(), ${updatedBy})
    ON CONFLICT (org_id) DO UPDATE SET primary_model = excluded.primary_model,
      fallback_model = excluded.fallback_model, mode = excluded.mode,
      updated_at = excluded.updated_at, updated_by = excluded.updated_by
    RETURNING primary_model, fallback_model, mode, updated_at`;
  return toRouting(row as RoutingRow);
}
