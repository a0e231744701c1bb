import type { Sql } from '../platform/postgres.ts';

/** Return when a moved organization was suspended before its move, or null if it was not. */
export async function selectSuspension(tx: Sql, orgId: string): Promise<Date | null> {
  const [row] = await tx<{ at: Date | null }[]>`SELECT suspended_before AS at FROM organizations WHERE id = ${orgId}`;
  return row?.at ?? null;
}
