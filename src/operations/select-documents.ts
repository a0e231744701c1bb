import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { findLastJobs, findNamedDocuments } from '../documents/name-store.ts';
import type { DocumentView } from '../documents/schema.ts';
import { findBucket } from '../documents/store.ts';
import { parseCondition } from '../metadata/statement/parser.ts';
import { selectVisibleMatches } from '../metadata/store.ts';
import { conflict, notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';

/** Maximum documents that a command can select, as in statements. */
export const SELECTED_MAX = 2_000;
const SHOWN_MAX = 5;

/** Documents of a bucket, selected by id, path or file name, or by a condition of the statement language. */
export const Selection = z.object({
  bucket: z.string(),
  names: z.array(z.string()).max(SELECTED_MAX).optional(),
  where: z.string().optional(),
});
type Selection = z.output<typeof Selection>;

/**
 * Find the documents that a command works on.
 *
 * @throws AppError `bucket_not_found`, `document_not_found` (404), `document_ambiguous` (409) for a name that several
 *   documents have, `too_many_documents` (409), `statement_invalid` (400)
 */
export async function selectDocuments(
  sql: Sql,
  caller: Caller,
  { bucket, names, where }: Selection,
): Promise<DocumentView[]> {
  const { id: bucketId } = await findBucket(sql, caller, bucket);
  if (where !== undefined) return selectByCondition(sql, caller, bucketId, where);
  const found = new Map<string, DocumentView>();
  for (const name of names ?? []) {
    const documents = await findNamedDocuments(sql, caller, bucketId, name.normalize('NFC'), SHOWN_MAX + 1);
    const [document] = documents;
    if (document === undefined) throw notFound('document', name);
    if (documents.length > 1) throw ambiguous(name, documents);
    found.set(document.id, document);
  }
  return [...found.values()];
}

async function selectByCondition(sql: Sql, caller: Caller, bucketId: string, where: string): Promise<DocumentView[]> {
  const scope = { caller, bucketId, where: parseCondition(where) };
  const documents = await selectVisibleMatches(sql, scope, SELECTED_MAX + 1);
  if (documents.length === 0) throw notFound('document', `for which ${where}`);
  if (documents.length > SELECTED_MAX) {
    throw conflict(`more than ${SELECTED_MAX} documents match; narrow the condition`, 'too_many_documents');
  }
  const ids = documents.map(({ id }) => id);
  const jobs = await findLastJobs(sql, caller.orgId, ids);
  return documents.map((document) => ({ ...document, job_id: jobs.get(document.id) ?? null }));
}

function ambiguous(name: string, documents: readonly DocumentView[]) {
  const shown = documents
    .slice(0, SHOWN_MAX)
    .map(({ id, source_path: path }) => (path === null ? id : `${id} (${path})`));
  const more = documents.length > SHOWN_MAX ? ', …' : '';
  const message = `several documents are named "${name}": ${shown.join(', ')}${more}; name one by its id or path`;
  return conflict(message, 'document_ambiguous');
}
