import type { Sql } from '../platform/postgres.ts';
import type { ActorUsage, UsageRow } from './schema.ts';

/** Sum usage over the days from `start` to before `end`, `YYYY-MM-DD`, grouped by some fields, in column order. */
export async function selectUsageRows(
  sql: Sql,
  orgId: string,
  query: { start: string; end: string; by: readonly string[]; rowsMax: number },
): Promise<UsageRow[]> {
  const { start, end, by, rowsMax } = query;
  const rows = await sql`
    SELECT CASE WHEN ${by.includes('day')} THEN to_char(day, 'YYYY-MM-DD') END AS day,
           CASE WHEN ${by.includes('axis')} THEN axis END AS axis,
           CASE WHEN ${by.includes('model')} THEN model END AS model,
           CASE WHEN ${by.includes('internal')} THEN internal END AS internal,
           sum(requests)::bigint AS requests, sum(texts)::bigint AS texts, sum(tokens)::bigint AS tokens,
           sum(images)::bigint AS images, nullif(sum(output_tokens), 0)::bigint AS output_tokens
    FROM usage_ledger WHERE org_id = ${orgId} AND day >= ${start}::date AND day < ${end}::date
    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4 LIMIT ${rowsMax}`;
  return rows.map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as never);
}

/**
 * Sum usage by key and user over the days from `start` to before `end`, `YYYY-MM-DD`, most tokens first.
 * @param query.actor actor to restrict to; null for all
 */
export async function selectUsageByActor(
  sql: Sql,
  orgId: string,
  query: { start: string; end: string; actor: string | null; rowsMax: number },
): Promise<ActorUsage[]> {
  const { start, end, actor, rowsMax } = query;
  return sql<ActorUsage[]>`
    SELECT sums.actor, k.id AS key_id, coalesce(k.name, u.email, g.client_name) AS name, sums.requests, sums.tokens
    FROM (SELECT actor, sum(requests)::bigint AS requests, sum(tokens)::bigint AS tokens
          FROM usage_by_actor WHERE org_id = ${orgId} AND day >= ${start}::date AND day < ${end}::date
            ${actor === null ? sql`` : sql`AND actor = ${actor}`}
          GROUP BY actor ORDER BY 3 DESC, 1 LIMIT ${rowsMax}) AS sums
    LEFT JOIN api_keys k ON k.org_id = ${orgId} AND sums.actor LIKE 'key:%' AND k.id = substr(sums.actor, 5)
    LEFT JOIN users u ON u.org_id = ${orgId} AND sums.actor LIKE 'user:%' AND u.id = substr(sums.actor, 6)
    LEFT JOIN oauth_grants g ON g.org_id = ${orgId} AND sums.actor LIKE 'grant:%' AND g.id = substr(sums.actor, 7)
    ORDER BY sums.tokens DESC, sums.actor`;
}
