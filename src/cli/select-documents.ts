import { Args, Flags } from '@oclif/core';
import type { Caller } from '../access/caller.ts';
import type { DocumentView } from '../documents/schema.ts';
import { conflict, invalidRequest, notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';

/** Most documents that a condition selects, as in statements. */
const SELECTED_MAX = 2_000;
const SHOWN_MAX = 5;

/** Argument and flag of commands that work on some documents of a bucket. */
export const documentArg = Args.string({
  description: 'id, path or file name of a document; several may be given',
  multiple: true,
  ignoreStdin: true,
});
export const whereFlag = Flags.string({
  description: `documents for which this condition of the statement language is true, such as "file_type = 'pdf'"`,
  env: 'SERVICE_WHERE',
});

/** Documents that a command names, one by one or by a condition. */
export interface Selection {
  readonly bucket: string;
  readonly names: readonly string[] | undefined;
  readonly where: string | undefined;
}

/** Check that a command names documents in one of both ways. @throws AppError `invalid_request` (400) */
export function selectionOf(
  args: { readonly document?: readonly string[] | string | undefined },
  flags: { readonly bucket: string; readonly where?: string | undefined },
): Selection {
  const names = args.document === undefined ? undefined : [args.document].flat();
  if (names === undefined && flags.where === undefined) {
    throw invalidRequest('name a document by its id, path or file name, or several by --where', 'document');
  }
  if (names !== undefined && flags.where !== undefined) {
    throw invalidRequest('give documents or --where, not both', 'where');
  }
  return { bucket: flags.bucket, names, where: flags.where };
}

/**
 * Find the documents that a command works on.
 *
 * @throws AppError `bucket_not_found`, `document_not_found` (404), `document_ambiguous` (409) for a name of several
 *   documents, `too_many_documents` (409), `statement_invalid` (400)
 */
export async function selectDocuments(
  sql: Sql,
  caller: Caller,
  { bucket, names, where }: Selection,
): Promise<DocumentView[]> {
  const { findBucket } = await import('../documents/store.ts');
  const { id: bucketId } = await findBucket(sql, caller.orgId, bucket);
  if (where !== undefined) return selectByCondition(sql, caller, bucketId, where);
  const { findNamedDocuments } = await import('../documents/name-store.ts');
  const found = new Map<string, DocumentView>();
  for (const name of names ?? []) {
    const documents = await findNamedDocuments(sql, caller, bucketId, name, SHOWN_MAX + 1);
    const [document] = documents;
    if (document === undefined) throw notFound('document', name);
    if (documents.length > 1) throw ambiguous(name, documents);
    found.set(document.id, document);
  }
  return [...found.values()];
}

async function selectByCondition(sql: Sql, caller: Caller, bucketId: string, where: string): Promise<DocumentView[]> {
  const { parseCondition } = await import('../metadata/statement/parser.ts');
  const { selectVisibleMatches } = await import('../metadata/store.ts');
  const { findLastJobs } = await import('../documents/name-store.ts');
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

/** Describe some documents in a few words: the name of one, or the number of several. */
export function describeDocuments(documents: readonly DocumentView[]): string {
  const [first] = documents;
  if (documents.length !== 1 || first === undefined) return `${documents.length} documents`;
  return `${first.source_path ?? first.file_name} (${first.id})`;
}
