import type { Sql } from '../platform/postgres.ts';
import { inTransaction } from '../platform/postgres.ts';
import type { Axis } from './schema.ts';

/** Key of a monthly counter of one organization or of one API key; `month` is its first day, `YYYY-MM-DD`. */
export interface CounterKey {
  readonly orgId: string;
  /** Id of the API key; null for the counter of the organization. */
  readonly keyId: string | null;
  readonly axis: Axis;
  readonly month: string;
}

/** Add `amount` to a counter. Return false, without a change, if the sum would exceed `limit`. */
export async function reserveUnits(sql: Sql, key: CounterKey, amount: number, limit: number): Promise<boolean> {
  const { table, columns, values } = placeOf(sql, key);
  const rows = await sql`
    INSERT INTO ${table} AS counter (${columns}, used)
    SELECT ${values}, ${amount}::bigint WHERE ${amount}::bigint <= ${limit}::bigint
    ON CONFLICT (${columns}) DO UPDATE SET used = counter.used + excluded.used
      WHERE counter.used + excluded.used <= ${limit}::bigint
    RETURNING 1`;
  return rows.length > 0;
}

/** Read a counter and lock it until the transaction ends. Create it if missing. */
export async function lockCounter(tx: Sql, key: CounterKey): Promise<number> {
  const { table, columns, values } = placeOf(tx, key);
  await tx`INSERT INTO ${table} (${columns}, used) VALUES (${values}, 0) ON CONFLICT DO NOTHING`;
  const [row] = await tx<{ used: number }[]>`
    SELECT used FROM ${table} WHERE (${columns}) = (${values}) FOR UPDATE`;
  return row?.used ?? 0;
}

export async function updateCounter(tx: Sql, key: CounterKey, used: number): Promise<void> {
  const { table, columns, values } = placeOf(tx, key);
  await tx`UPDATE ${table} SET used = ${used} WHERE (${columns}) = (${values})`;
}

/** Return the table of a counter, the columns of its primary key, and their values. */
function placeOf(sql: Sql, { orgId, keyId, axis, month }: CounterKey) {
  if (keyId === null) {
    const values = sql`${orgId}, ${axis}, ${month}::date`;
    return { table: sql`usage_counters`, columns: sql`org_id, axis, month`, values };
  }
  const values = sql`${orgId}, ${keyId}, ${axis}, ${month}::date`;
  return { table: sql`usage_key_counters`, columns: sql`org_id, key_id, axis, month`, values };
}

/** Row of the ledger: sums of the requests of one day, model and kind. */
export interface LedgerRow {
  readonly orgId: string;
  /** Day in UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly axis: Axis;
  readonly model: string;
  readonly internal: boolean;
  /**
   * Requests that used this model, alone or with others. `requestsLed` are those counted here for the axis and the day.
   */
  requests: number;
  requestsLed: number;
  texts: number;
  tokens: number;
  images: number;
  /** Tokens that a chat model wrote. */
  outputTokens: number;
}

/** Change of a counter. A negative one releases reserved units. */
export interface CounterChange extends CounterKey {
  units: number;
}

/** Requests of one day by one key or user. */
export interface ActorRow {
  readonly orgId: string;
  readonly day: string;
  /** Name in the audit log: `key:<id>`, `user:<id>`, …. */
  readonly actor: string;
  requests: number;
  tokens: number;
}

export interface UsageBatch {
  /** Id of the ledger of the process. With `sequence`, which only grows, it identifies the flush. */
  readonly ledgerId: string;
  readonly sequence: number;
  readonly rows: readonly LedgerRow[];
  readonly counters: readonly CounterChange[];
  readonly actors?: readonly ActorRow[];
}

/**
 * Add a batch to the ledger and the counters, in one transaction. A repeated call has no effect, so that the caller can
 * retry after a lost answer. Usage of a deleted organization is dropped.
 */
export async function writeUsage(sql: Sql, batch: UsageBatch): Promise<void> {
  await inTransaction(sql, async (tx) => {
    const isNew = await tx`
      INSERT INTO usage_flushes AS known (ledger_id, sequence) VALUES (${batch.ledgerId}, ${batch.sequence})
      ON CONFLICT (ledger_id) DO UPDATE SET sequence = excluded.sequence, flushed_at = now()
        WHERE known.sequence < excluded.sequence
      RETURNING 1`;
    if (isNew.length === 0) return;
    await addUsage(tx, batch);
  });
}

/** Add rows to the ledger, each key at most once, and changes to the counters. Drop deleted organizations. */
export async function addUsage(
  tx: Sql,
  { rows, counters, actors = [] }: Pick<UsageBatch, 'rows' | 'counters' | 'actors'>,
): Promise<void> {
  const column = <T, K extends keyof T>(list: readonly T[], key: K): T[K][] => list.map((item) => item[key]);
  // Every process writes in key order, so that two flushes cannot deadlock.
  if (rows.length > 0) {
    await tx`
      INSERT INTO usage_ledger AS known
        (org_id, day, axis, model, internal, requests, requests_led, texts, tokens, images, output_tokens)
      SELECT new.* FROM unnest(
        ${column(rows, 'orgId')}::text[], ${column(rows, 'day')}::date[], ${column(rows, 'axis')}::text[],
        ${column(rows, 'model')}::text[], ${tx.array(column(rows, 'internal'))}::boolean[],
        ${column(rows, 'requests')}::bigint[], ${column(rows, 'requestsLed')}::bigint[],
        ${column(rows, 'texts')}::bigint[], ${column(rows, 'tokens')}::bigint[], ${column(rows, 'images')}::bigint[],
        ${column(rows, 'outputTokens')}::bigint[]
      ) AS new (org_id, day, axis, model, internal, requests, requests_led, texts, tokens, images, output_tokens)
      JOIN organizations ON organizations.id = new.org_id
      ORDER BY new.org_id, new.day, new.axis, new.model, new.internal
      ON CONFLICT (org_id, day, axis, model, internal) DO UPDATE SET
        requests = known.requests + excluded.requests,
        requests_led = known.requests_led + excluded.requests_led,
        texts = known.texts + excluded.texts,
        tokens = known.tokens + excluded.tokens,
        images = known.images + excluded.images,
        output_tokens = known.output_tokens + excluded.output_tokens`;
  }
  const ofOrganizations = counters.filter(({ keyId }) => keyId === null);
  if (ofOrganizations.length > 0) {
    await tx`
      INSERT INTO usage_counters AS known (org_id, axis, month, used)
      SELECT new.* FROM unnest(
        ${column(ofOrganizations, 'orgId')}::text[], ${column(ofOrganizations, 'axis')}::text[],
        ${column(ofOrganizations, 'month')}::date[], ${column(ofOrganizations, 'units')}::bigint[]
      ) AS new (org_id, axis, month, used)
      JOIN organizations ON organizations.id = new.org_id
      ORDER BY new.org_id, new.axis, new.month
      ON CONFLICT (org_id, axis, month) DO UPDATE SET used = known.used + excluded.used`;
  }
  const ofKeys = counters.filter(({ keyId }) => keyId !== null);
  if (ofKeys.length > 0) {
    await tx`
      INSERT INTO usage_key_counters AS known (org_id, key_id, axis, month, used)
      SELECT new.* FROM unnest(
        ${column(ofKeys, 'orgId')}::text[], ${column(ofKeys, 'keyId')}::text[], ${column(ofKeys, 'axis')}::text[],
        ${column(ofKeys, 'month')}::date[], ${column(ofKeys, 'units')}::bigint[]
      ) AS new (org_id, key_id, axis, month, used)
      JOIN organizations ON organizations.id = new.org_id
      ORDER BY new.org_id, new.key_id, new.axis, new.month
      ON CONFLICT (org_id, key_id, axis, month) DO UPDATE SET used = known.used + excluded.used`;
  }
  if (actors.length > 0) {
    await tx`
      INSERT INTO usage_by_actor AS known (org_id, day, actor, requests, tokens)
      SELECT new.* FROM unnest(
        ${column(actors, 'orgId')}::text[], ${column(actors, 'day')}::date[], ${column(actors, 'actor')}::text[],
        ${column(actors, 'requests')}::bigint[], ${column(actors, 'tokens')}::bigint[]
      ) AS new (org_id, day, actor, requests, tokens)
      JOIN organizations ON organizations.id = new.org_id
      ORDER BY new.org_id, new.day, new.actor
      ON CONFLICT (org_id, day, actor) DO UPDATE SET
        requests = known.requests + excluded.requests, tokens = known.tokens + excluded.tokens`;
  }
}

export interface ReservationRow {
  readonly id: string;
  readonly orgId: string;
  readonly axis: Axis;
  /** Day in UTC, `YYYY-MM-DD`. */
  readonly day: string;
  /** Key or user who submitted the work, or null if unknown. */
  readonly actor: string | null;
  /** Units that are already in the month's counter. */
  readonly units: number;
  /** API key whose quotas the work counts against; null for none. */
  readonly keyId: string | null;
  /** Units that are already in the month's counter of the key. */
  readonly keyUnits: number;
}

export async function insertReservation(tx: Sql, row: ReservationRow): Promise<void> {
  await tx`
    INSERT INTO usage_reservations (id, org_id, axis, day, actor, units, key_id, key_units)
    VALUES (${row.id}, ${row.orgId}, ${row.axis}, ${row.day}::date, ${row.actor}, ${row.units},
            ${row.keyId}, ${row.keyUnits})`;
}

/** Delete a reservation and return it. Return null if it does not exist, or another process deleted it. */
export async function deleteReservation(tx: Sql, id: string): Promise<ReservationRow | null> {
  const [row] = await tx<ReservationRow[]>`
    DELETE FROM usage_reservations WHERE id = ${id}
    RETURNING id, org_id AS "orgId", axis, to_char(day, 'YYYY-MM-DD') AS day, actor, units,
              key_id AS "keyId", key_units AS "keyUnits"`;
  return row ?? null;
}

/** Delete the flush records of processes that ended long ago. */
export async function deleteOldFlushes(sql: Sql): Promise<void> {
  await sql`DELETE FROM usage_flushes WHERE flushed_at < now() - interval '7 days'`;
}

/** Select the units that count against the quotas of a month. */
export async function selectCounters(sql: Sql, orgId: string, month: string): Promise<Map<Axis, number>> {
  const rows = await sql<{ axis: Axis; used: number }[]>`
    SELECT axis, used FROM usage_counters WHERE org_id = ${orgId} AND month = ${month}::date`;
  return new Map(rows.map(({ axis, used }) => [axis, used]));
}

/** Select the units of an API key that count against its quotas of a month. */
export async function selectKeyCounters(
  sql: Sql,
  orgId: string,
  keyId: string,
  month: string,
): Promise<Partial<Record<Axis, number>>> {
  const rows = await sql<{ axis: Axis; used: number }[]>`
    SELECT axis, used FROM usage_key_counters
    WHERE org_id = ${orgId} AND key_id = ${keyId} AND month = ${month}::date`;
  return Object.fromEntries(rows.map(({ axis, used }) => [axis, used]));
}

interface Sums {
  readonly requests: number;
  readonly texts: number;
  readonly tokens: number;
  readonly images: number;
  readonly output_tokens: number;
}

export interface UsageSums {
  readonly byAxis: readonly (Sums & { axis: Axis })[];
  /** Sums by model, most tokens first. */
  readonly byModel: readonly { model: string; requests: number; tokens: number }[];
  /** Sums by day, `YYYY-MM-DD`, in ascending order. */
  readonly byDay: readonly { date: string; requests: number; tokens: number }[];
}

/** Select sums over the days from `start` to before `end`, `YYYY-MM-DD`, in one snapshot. */
export async function selectUsage(sql: Sql, orgId: string, start: string, end: string): Promise<UsageSums> {
  type Row = Sums & { axis: Axis | null; model: string | null; date: string | null; requests_led: number };
  const rows = await sql<Row[]>`
    SELECT axis, model, to_char(day, 'YYYY-MM-DD') AS date,
           sum(requests)::bigint AS requests, sum(requests_led)::bigint AS requests_led,
           sum(texts)::bigint AS texts, sum(tokens)::bigint AS tokens, sum(images)::bigint AS images,
           sum(output_tokens)::bigint AS output_tokens
    FROM usage_ledger WHERE org_id = ${orgId} AND day >= ${start}::date AND day < ${end}::date
    GROUP BY GROUPING SETS ((axis), (model), (day))
    ORDER BY day, tokens DESC, model`;
  const byAxis: (Sums & { axis: Axis })[] = [];
  const byModel: { model: string; requests: number; tokens: number }[] = [];
  const byDay: { date: string; requests: number; tokens: number }[] = [];
  for (const { axis, model, date, requests, requests_led, texts, tokens, images, output_tokens } of rows) {
    if (axis !== null) byAxis.push({ axis, requests: requests_led, texts, tokens, images, output_tokens });
    else if (model !== null) byModel.push({ model, requests, tokens });
    else if (date !== null) byDay.push({ date, requests: requests_led, tokens });
  }
  return { byAxis, byModel, byDay };
}
