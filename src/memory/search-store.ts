import type { Caller } from '../access/caller.ts';
import { visibleTo } from '../documents/visibility.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { type MemorySearchRequest, metadataOfTags, type SourceType } from './schema.ts';

/** Build the condition that a document has the requested source, tags and time. An empty list means no condition. */
export function memoryCondition(sql: Sql, caller: Caller, request: MemorySearchRequest): SqlFragment {
  const { sources, tags, temporal } = request;
  return sql`
    ${sources === undefined || sources.length === 0 ? sql`true` : sql`documents.metadata ->> 'source_kind' = ANY(${sql.array(sources)}::text[])`}
    ${tags === undefined ? sql`` : tagConditions(sql, tags)}
    ${temporal === undefined ? sql`` : sql`AND ${temporalCondition(sql, caller, request)}`}`;
}

/** Test each tag separately, so that a document can't satisfy two values of one key. */
function tagConditions(sql: Sql, tags: readonly string[]): SqlFragment {
  return tags.reduce(
    (all, tag) => sql`${all} AND documents.metadata @> ${sql.json(metadataOfTags([tag]))}`,
    sql`` as SqlFragment,
  );
}

/** Compare times to the microsecond, without a time zone. A document without a time is in no range. */
function temporalCondition(sql: Sql, caller: Caller, request: MemorySearchRequest): SqlFragment {
  const { temporal, temporal_start: start = 0, temporal_end: end = 0 } = request;
  const at = (seconds: number) => sql`to_timestamp(${seconds}::double precision)`;
  switch (temporal) {
    case 'before':
      return sql`documents.event_time < ${at(start)}`;
    case 'after':
      return sql`documents.event_time > ${at(start)}`;
    case 'between':
      return sql`documents.event_time BETWEEN ${at(start)} AND ${at(end)}`;
    case 'as_of':
      return sql`documents.event_time <= ${at(start)} AND ${isNewest(sql, caller, sql`AND newer.event_time <= ${at(start)}`)}`;
    default:
      return isNewest(sql, caller, sql``);
  }
}

/**
 * Build the condition that the caller can find no newer version of the document. Versions are the documents of one
 * source entry, or uploads with the same `source_path`. Of two versions with the same time, the one created later is
 * newer. A version without a time is older than all others.
 *
 * @param bound further condition on the newer version
 */
function isNewest(sql: Sql, caller: Caller, bound: SqlFragment): SqlFragment {
  const newer = sql`
    newer.org_id = documents.org_id AND newer.bucket_id = documents.bucket_id
    AND newer.active_generation IS NOT NULL AND newer.searchable AND ${visibleTo(sql, caller, 'newer')}
    AND (coalesce(newer.event_time, '-infinity'), newer.id) > (coalesce(documents.event_time, '-infinity'), documents.id)
    ${bound}`;
  return sql`
    (CASE
      WHEN documents.source_entry_id IS NOT NULL THEN NOT EXISTS (
        SELECT 1 FROM documents AS newer WHERE newer.source_entry_id = documents.source_entry_id AND ${newer})
      WHEN documents.source_path IS NOT NULL THEN NOT EXISTS (
        SELECT 1 FROM documents AS newer
        WHERE md5(newer.source_path) = md5(documents.source_path) AND newer.source_path = documents.source_path
          AND newer.source_entry_id IS NULL AND ${newer})
      ELSE true END)`;
}

/** Fields of a found document in addition to those of a search. */
export interface FoundFacts {
  readonly eventTime: Date | null;
  readonly source: { readonly id: string; readonly type: SourceType } | null;
}

/** Read these fields for documents found by the caller's search. */
export async function findFacts(
  sql: Sql,
  caller: Caller,
  documentIds: readonly string[],
): Promise<Map<string, FoundFacts>> {
  if (documentIds.length === 0) return new Map();
  type Row = { id: string; eventTime: Date | null; sourceId: string; type: SourceType | null };
  const rows = await sql<Row[]>`
    SELECT documents.id, event_time AS "eventTime", source_id AS "sourceId", type
    FROM documents LEFT JOIN sources ON sources.id = documents.source_id
    WHERE documents.org_id = ${caller.orgId} AND documents.id = ANY(${sql.array([...documentIds])}::text[])
      AND ${visibleTo(sql, caller)}`;
  return new Map(
    rows.map(({ id, eventTime, sourceId, type }) => [
      id,
      { eventTime, source: type === null ? null : { id: sourceId, type } },
    ]),
  );
}
