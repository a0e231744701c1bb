import type { Caller } from '../../access/caller.ts';
import { visibleTo } from '../../documents/visibility.ts';
import type { Sql } from '../../platform/postgres.ts';
import { isSearched } from '../../search/documents/document-store.ts';

/** Document that a sample may take chunks from, with the location of its stored chunks. */
export interface SampledDocument {
  readonly id: string;
  readonly fileName: string;
  readonly artifactKey: string;
  readonly chunks: number;
}

/** Count a bucket's documents that the caller may see and that have vectors in a latent space but no text. */
export async function countWithoutText(
  sql: Sql,
  caller: Caller,
  { bucketId, space }: { readonly bucketId: string; readonly space: string },
): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS documents FROM documents
    JOIN generations ON generations.id = documents.active_generation AND generations.document_id = documents.id
    WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId} AND ${isSearched(sql)}
      AND NOT generations.has_text AND generations.space = ${space} AND ${visibleTo(sql, caller)}`;
  return row?.['documents'] as number;
}

/**
 * Choose documents of a bucket that the caller may see and that have text and vectors in a latent space: the named ones
 * first, then others. Ordering by a hash of the id makes the choice evenly spread and repeatable.
 *
 * @param options.ids ids of documents to start with
 * @param options.names ids or file names of further ones
 * @param options.chunksMax total number of chunks; the last document may exceed it
 */
export async function chooseDocuments(
  sql: Sql,
  caller: Caller,
  { bucketId, space }: { readonly bucketId: string; readonly space: string },
  options: { readonly ids: readonly string[]; readonly names: readonly string[]; readonly chunksMax: number },
): Promise<SampledDocument[]> {
  const ids = sql.array([...options.ids, ...options.names]);
  const names = sql.array([...options.names]);
  return sql<SampledDocument[]>`
    SELECT id, file_name AS "fileName", artifact_key AS "artifactKey", chunks FROM (
      SELECT documents.id, file_name, artifact_key, generations.chunks_count AS chunks, place,
             sum(generations.chunks_count) OVER (ORDER BY place, hashtext(documents.id), documents.id) AS running
      FROM documents
      JOIN generations ON generations.id = documents.active_generation AND generations.document_id = documents.id,
      LATERAL (SELECT CASE WHEN documents.id = ANY(${ids}::text[]) OR file_name = ANY(${names}::text[])
                           THEN 0 ELSE 1 END AS place) AS order_of
      WHERE documents.org_id = ${caller.orgId} AND documents.bucket_id = ${bucketId} AND ${isSearched(sql)}
        AND NOT keyword_only AND generations.has_text AND generations.space = ${space} AND ${visibleTo(sql, caller)}
    ) AS chosen
    WHERE running - chunks < ${options.chunksMax}
    ORDER BY running`;
}
