import type { Sql } from '../platform/postgres.ts';
import { inTransaction } from '../platform/postgres.ts';
import type { Assistant } from './assistant-schema.ts';

/** Insert an assistant. @returns the row, or the reason why there is none */
export async function insertAssistant(
  sql: Sql,
  orgId: string,
  { id, name, definition }: Pick<Assistant, 'id' | 'name' | 'definition'>,
  rowsMax: number,
): Promise<Assistant | 'exists' | 'full'> {
  return inTransaction(sql, async (tx) => {
    await tx`SELECT 1 FROM organizations WHERE id = ${orgId} FOR UPDATE`;
    const [{ rows }] = await tx<[{ rows: number }]>`
      SELECT count(*)::int AS rows FROM assistants WHERE org_id = ${orgId}`;
    if (rows >= rowsMax) return 'full';
    const [row] = await tx<Assistant[]>`
      INSERT INTO assistants (id, org_id, name, definition) VALUES (${id}, ${orgId}, ${name}, ${tx.json(definition as never)})
      ON CONFLICT (org_id, name) DO NOTHING RETURNING ${columns(tx)}`;
    return row ?? 'exists';
  });
}

export async function selectAssistant(sql: Sql, orgId: string, ref: string): Promise<Assistant | null> {
  const [row] = await sql<Assistant[]>`
    SELECT ${columns(sql)} FROM assistants WHERE org_id = ${orgId} AND (id = ${ref} OR name = ${ref}) LIMIT 1`;
  return row ?? null;
}

export async function selectAssistants(sql: Sql, orgId: string): Promise<Assistant[]> {
  return sql<Assistant[]>`SELECT ${columns(sql)} FROM assistants WHERE org_id = ${orgId} ORDER BY name`;
}

export async function deleteAssistantRow(sql: Sql, orgId: string, id: string): Promise<void> {
  await sql`DELETE FROM assistants WHERE org_id = ${orgId} AND id = ${id}`;
}

function columns(sql: Sql) {
  return sql`id, name, definition, created_at AS "createdAt"`;
}
