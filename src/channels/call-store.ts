import type { Sql } from '../platform/postgres.ts';

/**
 * Log a call of a bot, unless there were `callsMax` calls in the last `windowMs` by the database clock. Return true if
 * it was logged. The row lock of the upsert serialises concurrent calls.
 */
export async function takeCall(
  sql: Sql,
  bot: { readonly orgId: string; readonly botId: string },
  limit: { readonly callsMax: number; readonly windowMs: number },
): Promise<boolean> {
  const { callsMax, windowMs } = limit;
  const rows = await sql`
    INSERT INTO channel_calls AS log (org_id, bot_id, calls) VALUES (${bot.orgId}, ${bot.botId}, ARRAY[clock_timestamp()])
    ON CONFLICT (org_id, bot_id) DO UPDATE
    SET calls = ARRAY(SELECT at FROM unnest(log.calls) AS at
                      WHERE at > clock_timestamp() - ${windowMs}::float8 * interval '1 millisecond' ORDER BY at)
                || clock_timestamp()
    WHERE (SELECT count(*) FROM unnest(log.calls) AS at
           WHERE at > clock_timestamp() - ${windowMs}::float8 * interval '1 millisecond') < ${callsMax}
    RETURNING 1`;
  return rows.length > 0;
}

/** Delete the logs of bots in all organizations whose last call is older than `ageMs`. */
export async function deleteOldCalls(sql: Sql, ageMs: number): Promise<void> {
  await sql`
    DELETE FROM channel_calls WHERE (SELECT max(at) FROM unnest(calls) AS at) < now() - ${ageMs} * interval '1 millisecond'`;
}
