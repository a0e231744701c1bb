import type { Caller } from '../access/caller.ts';
import { invalidRequest } from '../platform/errors.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { BucketContents, DocumentSort, DocumentView, FindDocumentsQuery, ListDocumentsQuery } from './schema.ts';
import { lastJobColumns, toDocument } from './store.ts';
import { visibleTo } from './visibility.ts';

const FOLDERS_MAX = 500;

/** Sort value of documents, and its type in a cursor. Equal values are ordered by id. */
const SORT_VALUES: Readonly<
  Record<Exclude<DocumentSort, 'created'>, (sql: Sql) => readonly [SqlFragment, SqlFragment]>
> = {
  changed: (sql) => [sql`(extract(epoch FROM updated_at) * 1000000)::bigint`, sql`bigint`],
  name: (sql) => [sql`lower(file_name)`, sql`text`],
  size: (sql) => [sql`size_bytes`, sql`bigint`],
};

/** Filters and order of a list. */
type DocumentFilters = {
  readonly [K in Exclude<keyof ListDocumentsQuery, 'limit'>]?: ListDocumentsQuery[K] | undefined;
};

/** Page of a list, with the cursor of the next page. */
export interface DocumentPage {
  readonly data: DocumentView[];
  readonly nextCursor: string | null;
}

/**
 * List documents of a bucket that the caller may see, after `query.cursor`.
 *
 * @throws AppError `invalid_request` (400) for a cursor of another sort order
 */
export async function listDocumentPage(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  query: DocumentFilters,
  limit: number,
): Promise<DocumentPage> {
  const { cursor, sort = 'created', order = 'desc', status } = query;
  const direction = order === 'asc' ? sql`ASC` : sql`DESC`;
  const isAfter = order === 'asc' ? sql`>` : sql`<`;
  const position = cursor === undefined ? null : readCursor(sort, cursor);
  const [value, type] = sort === 'created' ? [null, null] : SORT_VALUES[sort](sql);
  const rows = await sql`
    SELECT documents.*, ${lastJobColumns(sql)} ${value === null ? sql`` : sql`, ${value}::text AS sort_value`}
    FROM documents
    WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}
      ${status === undefined ? sql`` : sql`AND status = ${status}`}
      ${matches(sql, query)}
      ${
        position === null
          ? sql``
          : value === null
            ? sql`AND id ${isAfter} ${position.id}`
            : sql`AND (${value}, id) ${isAfter} (${position.value}::text::${type}, ${position.id})`
      }
    ORDER BY ${value === null ? sql`` : sql`${value} ${direction},`} id ${direction} LIMIT ${limit + 1}`;
  const data = rows.slice(0, limit);
  const last = rows.length > limit ? data.at(-1) : undefined;
  return {
    data: data.map((row) => toDocument(row)),
    nextCursor:
      last === undefined ? null : writeCursor(sort, { id: last['id'] as string, value: last['sort_value'] as string }),
  };
}

/** Build the conditions on the name, format and folder of documents. */
function matches(sql: Sql, { name, type, folder }: DocumentFilters): SqlFragment {
  return sql`
    ${name === undefined ? sql`` : sql`AND ${isNamed(sql, name)}`}
    ${type === undefined ? sql`` : sql`AND file_type = ${type}`}
    ${folder === undefined ? sql`` : sql`AND starts_with(source_path, ${`${folder}/`})`}`;
}

/** Build the condition that a document has a text in its file name or source path, ignoring case. */
function isNamed(sql: Sql, name: string): SqlFragment {
  return sql`(strpos(lower(file_name), lower(${name})) > 0 OR strpos(lower(source_path), lower(${name})) > 0)`;
}

interface Position {
  readonly id: string;
  /** Sort value; unused when sorting by upload order. */
  readonly value: string;
}

function writeCursor(sort: DocumentSort, { id, value }: Position): string {
  return sort === 'created' ? id : Buffer.from(JSON.stringify([sort, value, id])).toString('base64url');
}

function readCursor(sort: DocumentSort, cursor: string): Position {
  if (sort === 'created') {
    if (/^doc_[0-9a-z]{26}$/.test(cursor)) return { id: cursor, value: '' };
  } else {
    try {
      const [of, value, id] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
      if (
        of === sort &&
        typeof value === 'string' &&
        typeof id === 'string' &&
        isValue(sort, value) &&
        !id.includes('\0')
      )
        return { id, value };
    } catch {
      // Not a cursor.
    }
  }
  throw invalidRequest('cursor: must be the next_cursor of an earlier page with the same sort', 'cursor');
}

/** Return true if PostgreSQL can parse a cursor's value, which a client may have made up. */
function isValue(sort: DocumentSort, value: string): boolean {
  if (sort !== 'name') return /^\d{1,18}$/.test(value);
  return !value.includes('\0') && value.isWellFormed();
}

/** Find documents in any bucket by a part of their names, or by id, newest first. */
export async function findDocumentRows(sql: Sql, caller: Caller, query: FindDocumentsQuery): Promise<DocumentView[]> {
  const { name, ids } = query;
  const rows = await sql`
    SELECT documents.*, ${lastJobColumns(sql)} FROM documents
    WHERE org_id = ${caller.orgId} AND ${visibleTo(sql, caller)}
      ${name === undefined ? sql`` : sql`AND ${isNamed(sql, name)}`}
      ${ids === undefined ? sql`` : sql`AND documents.id = ANY(${sql.array([...ids])}::text[])`}
      AND NOT EXISTS (SELECT 1 FROM buckets WHERE buckets.id = bucket_id AND deleting_at IS NOT NULL)
    ORDER BY id DESC LIMIT ${query.limit}`;
  return rows.map((row) => toDocument(row));
}

/** Count the documents of a bucket that the caller may see, by subfolder of `folder` and by format. */
export async function countContents(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  folder: string | undefined,
): Promise<Pick<BucketContents, 'folders' | 'types'>> {
  const inBucket = sql`org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}`;
  const prefix = folder === undefined ? '' : `${folder}/`;
  const folders = await sql<{ name: string; documents: number }[]>`
    SELECT split_part(below, '/', 1) AS name, count(*)::int AS documents
    FROM (SELECT substr(source_path, length(${prefix}::text) + 1) AS below FROM documents
          WHERE ${inBucket} AND starts_with(source_path, ${prefix}::text)) AS paths
    WHERE strpos(below, '/') > 1 GROUP BY 1 ORDER BY 1 LIMIT ${FOLDERS_MAX}`;
  const types = await sql<{ type: string; documents: number }[]>`
    SELECT file_type AS type, count(*)::int AS documents FROM documents
    WHERE ${inBucket} AND file_type IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1`;
  return { folders, types };
}
