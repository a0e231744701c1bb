import { type BucketUser, bucketsOf } from '../documents/store.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { Assistant } from './assistant-schema.ts';

/** Insert an assistant. Return null if the organization already has one of this name. */
export async function insertAssistant(
  tx: Sql,
  orgId: string,
  { id, name, definition }: Pick<Assistant, 'id' | 'name' | 'definition'>,
): Promise<Assistant | null> {
  const [row] = await tx<Assistant[]>`
    INSERT INTO assistants (id, org_id, name, definition) VALUES (${id}, ${orgId}, ${name}, ${tx.json(definition as never)})
    ON CONFLICT (org_id, name) DO NOTHING RETURNING ${columns(tx)}`;
  return row ?? null;
}

export async function selectAssistant(sql: Sql, caller: BucketUser, ref: string): Promise<Assistant | null> {
  const [row] = await sql<Assistant[]>`
    SELECT ${columns(sql)} FROM assistants WHERE ${assistantsOf(sql, caller)} AND (id = ${ref} OR name = ${ref}) LIMIT 1`;
  return row ?? null;
}

export async function selectAssistants(sql: Sql, caller: BucketUser): Promise<Assistant[]> {
  return sql<Assistant[]>`
    SELECT ${columns(sql)} FROM assistants WHERE ${assistantsOf(sql, caller)} ORDER BY name`;
}

/** Build the condition that an assistant exists for a caller: all buckets of the assistant do. */
function assistantsOf(sql: Sql, { orgId, limits }: BucketUser): SqlFragment {
  const allowed = limits?.buckets;
  return sql`
    assistants.org_id = ${orgId}
    ${allowed === undefined ? sql`` : sql`AND definition->'buckets' <@ to_jsonb(${sql.array([...allowed])}::text[])`}`;
}

export async function deleteAssistantRow(sql: Sql, orgId: string, id: string): Promise<void> {
  await sql`DELETE FROM assistants WHERE org_id = ${orgId} AND id = ${id}`;
}

function columns(sql: Sql) {
  return sql`id, name, definition, created_at AS "createdAt"`;
}

/** Select the names that a caller may ask, `assistant/NAME` and `bucket/NAME`, sorted. */
export async function selectAnswererNames(sql: Sql, caller: BucketUser): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    SELECT 'assistant/' || name AS id FROM assistants WHERE ${assistantsOf(sql, caller)}
    UNION ALL SELECT 'bucket/' || name FROM buckets WHERE ${bucketsOf(sql, caller)}
    ORDER BY id`;
  return rows.map(({ id }) => id);
}
