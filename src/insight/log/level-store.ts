import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import { LOG_LEVELS, type LogLevel, type SearchLogSettings } from '../../platform/search-settings.ts';

/** Return the level that applies to an organization. @param own level that it chose; null if it chose none */
export function levelFor({ level, levelMax }: SearchLogSettings, own: LogLevel | null): LogLevel {
  return LOG_LEVELS[Math.min(LOG_LEVELS.indexOf(own ?? level), LOG_LEVELS.indexOf(levelMax))] as LogLevel;
}

/** Build a condition on `organizations`: the organization keeps at least this much of its searches. */
export function keepsAtLeast(sql: Sql, settings: SearchLogSettings, wanted: 'counts' | 'queries'): SqlFragment {
  const enough = LOG_LEVELS.slice(LOG_LEVELS.indexOf(wanted));
  if (!enough.includes(settings.levelMax)) return sql`false`;
  return sql`coalesce(organizations.search_log, ${settings.level}) = ANY(${sql.array([...enough])}::text[])`;
}

/** Read the levels of the organizations that chose one. @param orgIds null for all organizations */
export async function selectLevels(sql: Sql, orgIds: readonly string[] | null): Promise<Map<string, LogLevel>> {
  const rows = await sql<{ id: string; level: LogLevel }[]>`
    SELECT id, search_log AS level FROM organizations
    WHERE search_log IS NOT NULL ${orgIds === null ? sql`` : sql`AND id = ANY(${sql.array([...orgIds])}::text[])`}`;
  return new Map(rows.map(({ id, level }) => [id, level]));
}

/** Read the level that an organization chose, or null if it chose none. */
export async function selectLevel(sql: Sql, orgId: string): Promise<LogLevel | null> {
  const [row] = await sql<{ level: LogLevel | null }[]>`
    SELECT search_log AS level FROM organizations WHERE id = ${orgId}`;
  return row?.level ?? null;
}

export async function updateLevel(sql: Sql, orgId: string, level: LogLevel | null): Promise<void> {
  await sql`UPDATE organizations SET search_log = ${level} WHERE id = ${orgId}`;
}
