import type { Sql } from '../../platform/postgres.ts';

/** Stored synonyms of a bucket. */
export interface StoredSynonyms {
  readonly groups: string[][];
  readonly updatedAt: Date;
}

export async function findSynonyms(sql: Sql, orgId: string, bucketId: string): Promise<StoredSynonyms | null> {
  const [row] = await sql<StoredSynonyms[]>`
    SELECT groups, updated_at AS "updatedAt" FROM bucket_synonyms WHERE org_id = ${orgId} AND bucket_id = ${bucketId}`;
  return row ?? null;
}

/** Read the synonyms of buckets, with the ids of their last edits. */
export async function listSynonyms(
  sql: Sql,
  bucketIds: readonly string[],
): Promise<{ bucketId: string; editId: string; groups: string[][] }[]> {
  return sql<{ bucketId: string; editId: string; groups: string[][] }[]>`
    SELECT bucket_id AS "bucketId", edit_id AS "editId", groups FROM bucket_synonyms
    WHERE bucket_id = ANY(${sql.array([...bucketIds])}::text[])`;
}

/** Replace the synonyms of a bucket. An empty list removes them. Return the time of the edit. */
export async function replaceSynonyms(
  tx: Sql,
  { orgId, bucketId }: { readonly orgId: string; readonly bucketId: string },
  edit: { readonly editId: string; readonly groups: readonly (readonly string[])[] },
): Promise<Date | null> {
  if (edit.groups.length === 0) {
    await tx`DELETE FROM bucket_synonyms WHERE org_id = ${orgId} AND bucket_id = ${bucketId}`;
    return null;
  }
  const [row] = await tx`
    INSERT INTO bucket_synonyms (bucket_id, org_id, edit_id, groups)
    VALUES (${bucketId}, ${orgId}, ${edit.editId}, ${JSON.stringify(edit.groups)}::text::jsonb)
    ON CONFLICT (bucket_id) DO UPDATE SET edit_id = excluded.edit_id, groups = excluded.groups, updated_at = now()
    RETURNING updated_at`;
  return row?.['updated_at'] as Date;
}
