import type { Plan } from '../access/caller.ts';
import { idTimeMs } from '../platform/ids.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';

/** Stored configuration, with `config` encrypted. */
export interface ConfigRow {
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly provider: string;
  readonly sealedConfig: Buffer;
}

/** Columns of a `ConfigRow`; the table is `c`. */
function columns(sql: Sql): SqlFragment {
  return sql`c.id, c.org_id AS "orgId", c.name, c.provider, c.sealed_config AS "sealedConfig"`;
}

export async function insertConfig(sql: Sql, config: ConfigRow & { readonly botId: string | null }): Promise<void> {
  await sql`
    INSERT INTO channel_configs (id, org_id, name, provider, bot_id, sealed_config)
    VALUES (${config.id}, ${config.orgId}, ${config.name}, ${config.provider}, ${config.botId}, ${config.sealedConfig})`;
}

/**
 * Return the configurations of an organization, oldest first; without `limit`, all of them.
 *
 * @param page.after id of the last configuration on the previous page; if it was deleted, the time in its id is used
 */
export async function selectConfigs(
  sql: Sql,
  orgId: string,
  { limit = null, after }: { readonly limit?: number | null; readonly after?: string | undefined } = {},
): Promise<ConfigRow[]> {
  return sql<ConfigRow[]>`
    SELECT ${columns(sql)} FROM channel_configs c
    WHERE org_id = ${orgId} ${after === undefined ? sql`` : isAfter(sql, orgId, after)}
    ORDER BY created_at, id LIMIT ${limit}`;
}

function isAfter(sql: Sql, orgId: string, id: string): SqlFragment {
  const placed = new Date(idTimeMs(id) ?? 0);
  return sql`AND (created_at, id) > (
    COALESCE((SELECT last.created_at FROM channel_configs AS last WHERE last.org_id = ${orgId} AND last.id = ${id}), ${placed}),
    ${id})`;
}

export async function selectConfig(sql: Sql, orgId: string, id: string): Promise<ConfigRow | null> {
  const [config] = await sql<ConfigRow[]>`
    SELECT ${columns(sql)} FROM channel_configs c WHERE org_id = ${orgId} AND id = ${id}`;
  return config ?? null;
}

/** Delete a configuration and the replies to its deliveries. Return the deleted row, or null. */
export async function deleteConfig(sql: Sql, orgId: string, id: string): Promise<ConfigRow | null> {
  const [config] = await sql<ConfigRow[]>`
    DELETE FROM channel_configs c WHERE org_id = ${orgId} AND id = ${id} RETURNING ${columns(sql)}`;
  return config ?? null;
}

/**
 * Return the configurations with this `bot_id` in all unsuspended organizations, oldest first; only `configId` unless
 * it is null. A delivery names no organization, so its signature selects one.
 */
export async function selectConfigsOfBot(
  sql: Sql,
  { botId, configId }: { readonly botId: string; readonly configId: string | null },
  rowsMax: number,
): Promise<(ConfigRow & { readonly plan: Plan })[]> {
  return sql<(ConfigRow & { readonly plan: Plan })[]>`
    SELECT ${columns(sql)}, o.plan FROM channel_configs c JOIN organizations o ON o.id = c.org_id
    WHERE c.bot_id = ${botId} AND o.suspended_at IS NULL ${configId === null ? sql`` : sql`AND c.id = ${configId}`}
    ORDER BY c.created_at, c.id LIMIT ${rowsMax}`;
}

/** Find a provider's configuration by id alone. Return null if its organization is suspended. */
export async function selectConfigWithPlan(
  sql: Sql,
  id: string,
  provider: string,
): Promise<(ConfigRow & { readonly plan: Plan }) | null> {
  const [config] = await sql<(ConfigRow & { readonly plan: Plan })[]>`
    SELECT ${columns(sql)}, o.plan FROM channel_configs c JOIN organizations o ON o.id = c.org_id
    WHERE c.id = ${id} AND c.provider = ${provider} AND o.suspended_at IS NULL`;
  return config ?? null;
}
