import type { Caller } from '../../access/caller.ts';
import { visibleTo } from '../../documents/visibility.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { Judgement } from './schema.ts';

/** Return the bucket of a document that the caller may see, or null if there is none. */
export async function findBucketOfDocument(sql: Sql, caller: Caller, documentId: string): Promise<string | null> {
  const [row] = await sql<{ bucketId: string }[]>`
    SELECT bucket_id AS "bucketId" FROM documents
    WHERE org_id = ${caller.orgId} AND id = ${documentId} AND ${visibleTo(sql, caller)}`;
  return row?.bucketId ?? null;
}

export async function countJudgedQueries(sql: Sql, orgId: string, bucketId: string): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    SELECT count(DISTINCT query)::int AS n FROM search_judgements WHERE org_id = ${orgId} AND bucket_id = ${bucketId}`;
  return row?.n ?? 0;
}

/** Store a judgement, or delete it if the grade is null. */
export async function storeJudgement(tx: Sql, orgId: string, judgement: Judgement): Promise<void> {
  const { bucket_id: bucketId, query, document_id: documentId, grade } = judgement;
  if (grade === null) {
    await tx`
      DELETE FROM search_judgements
      WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND query = ${query} AND document_id = ${documentId}`;
    return;
  }
  await tx`
    INSERT INTO search_judgements (bucket_id, query, document_id, org_id, grade)
    VALUES (${bucketId}, ${query}, ${documentId}, ${orgId}, ${grade})
    ON CONFLICT (bucket_id, query, document_id) DO UPDATE SET grade = excluded.grade, judged_at = now()`;
}

/** List judged queries of a bucket, with the grades of the documents that the caller may see. */
export async function selectJudgedQueries(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  page: { readonly limit: number; readonly after?: string | undefined },
): Promise<{ query: string; relevant: Record<string, number> }[]> {
  return sql<{ query: string; relevant: Record<string, number> }[]>`
    SELECT query, jsonb_object_agg(document_id, grade) AS relevant FROM search_judgements
    JOIN documents ON documents.id = document_id
    WHERE search_judgements.org_id = ${caller.orgId} AND search_judgements.bucket_id = ${bucketId} AND grade > 0
      AND ${visibleTo(sql, caller)}
      ${page.after === undefined ? sql`` : sql`AND query > ${page.after}`}
    GROUP BY query ORDER BY query LIMIT ${page.limit}`;
}
