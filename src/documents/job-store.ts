import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { DocumentView } from './schema.ts';
import { toDocument } from './store.ts';
import { visibleTo } from './visibility.ts';

/** Find a job's document and the key of its bytes. Return null if it is gone or the caller may not see it. */
export async function findDocumentOfJob(
  sql: Sql,
  caller: Caller,
  documentId: string,
): Promise<{ document: DocumentView; objectKey: string } | null> {
  const [row] = await sql`
    SELECT * FROM documents WHERE org_id = ${caller.orgId} AND id = ${documentId} AND ${visibleTo(sql, caller)}`;
  return row ? { document: toDocument(row), objectKey: row['object_key'] as string } : null;
}

/**
 * Build the condition that a row of `jobs` belongs to this bucket, by name or id (bulk jobs have a placeholder id).
 * Compare with a single value, so that an index returns the bucket's jobs in order.
 */
export function jobInBucket(sql: Sql, orgId: string, ref: string) {
  return sql`
    jobs.bucket_id = coalesce((SELECT id FROM buckets WHERE org_id = ${orgId} AND name = ${ref}), ${ref})`;
}
