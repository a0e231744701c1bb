import type { Sql } from '../../src/platform/postgres.ts';
import type { PlainDocument } from './interpreter.ts';
import { insertDocuments, isVisible, makeDocuments } from './sample-documents.ts';

export const DOCUMENTS = 300;

/** Bucket of documents in PostgreSQL, and the visible ones in memory for the interpreter. */
export interface Sample {
  readonly sql: Sql;
  readonly documents: readonly PlainDocument[];
}

export async function openSample(sql: Sql): Promise<Sample> {
  const documents = makeDocuments(DOCUMENTS);
  await insertDocuments(sql, documents);
  return { sql, documents: documents.filter(isVisible) };
}

/** Compute a fingerprint of documents, jobs and audited changes, which changes with any of them; previews leave it. */
export async function fingerprint(sql: Sql): Promise<string> {
  const [row] = await sql`
    SELECT md5(string_agg(documents::text, '' ORDER BY id)) AS documents,
           (SELECT count(*) FROM audit_log WHERE action NOT LIKE 'document.preview%') AS audit, (SELECT count(*) FROM jobs) AS jobs FROM documents`;
  return JSON.stringify(row);
}
