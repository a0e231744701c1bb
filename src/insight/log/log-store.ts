import type { Caller } from '../../access/caller.ts';
import { visibleTo } from '../../documents/visibility.ts';
import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { SearchLogSettings } from '../../platform/search-settings.ts';
import type { Asker } from '../../search/search-recorder.ts';
import { keepsAtLeast } from './level-store.ts';
import { type LogEntry, OPENED_MAX } from './schema.ts';

/** Search to be written to the log. */
export interface LoggedSearch {
  readonly id: string;
  readonly org_id: string;
  readonly asked_at: string;
  readonly bucket_ids: readonly string[];
  readonly query: string;
  readonly asked_by: Asker;
  readonly mode: string;
  readonly took_ms: number;
  readonly results: number;
  readonly relevance: string | null;
  readonly request_id: string | null;
}

/** Documents opened from the results of a search, and feedback on the search. */
export interface SearchNote {
  readonly id: string;
  readonly org_id: string;
  readonly opened: readonly string[];
  readonly helpful: boolean | null;
  readonly chunk_id: string | null;
}

/** Insert the searches of organizations that keep queries. Skip all other and deleted organizations. */
export async function insertSearches(
  sql: Sql,
  settings: SearchLogSettings,
  searches: readonly LoggedSearch[],
): Promise<void> {
  await sql`
    INSERT INTO search_log
      (id, org_id, asked_at, bucket_ids, query, asked_by, mode, took_ms, results, relevance, request_id)
    SELECT new.* FROM jsonb_to_recordset(${sql.json([...searches])}) AS new (
      id text, org_id text, asked_at timestamptz, bucket_ids text[], query text, asked_by text, mode text,
      took_ms integer, results integer, relevance text, request_id text)
    JOIN organizations ON organizations.id = new.org_id
    WHERE ${keepsAtLeast(sql, settings, 'queries')}
    ON CONFLICT (id) DO NOTHING`;
}

/** Merge notes into their searches, at most one note per search. Return the ids of the logged ones. */
export async function applyNotes(sql: Sql, notes: readonly SearchNote[]): Promise<string[]> {
  const rows = await sql<{ id: string }[]>`
    UPDATE search_log SET
      opened = ARRAY(SELECT DISTINCT unnest(search_log.opened || new.opened) LIMIT ${OPENED_MAX}),
      helpful = coalesce(new.helpful, search_log.helpful),
      chunk_id = CASE WHEN new.helpful IS NULL THEN search_log.chunk_id ELSE new.chunk_id END
    FROM jsonb_to_recordset(${sql.json([...notes])}) AS new (
      id text, org_id text, opened text[], helpful boolean, chunk_id text)
    WHERE search_log.id = new.id AND search_log.org_id = new.org_id
    RETURNING search_log.id`;
  return rows.map(({ id }) => id);
}

/** Filter for searches, with the bucket given by id. */
export interface SearchConditions {
  readonly since?: Date | undefined;
  readonly bucketId?: string | undefined;
  readonly unanswered?: boolean | undefined;
  readonly minMs?: number | undefined;
  readonly contains?: string | undefined;
}

/**
 * Build a condition on `search_log`: rows of the caller's organization that match the filter. Keys limited to buckets
 * can't read the log.
 */
export function loggedFor(sql: Sql, { orgId }: Caller, conditions: SearchConditions = {}): SqlFragment {
  const { since, bucketId, unanswered, minMs, contains } = conditions;
  return sql`
    search_log.org_id = ${orgId}
    ${since === undefined ? sql`` : sql`AND asked_at >= ${since}`}
    ${bucketId === undefined ? sql`` : sql`AND ${bucketId} = ANY(bucket_ids)`}
    ${unanswered ? sql`AND (results = 0 OR relevance = 'none')` : sql``}
    ${minMs === undefined ? sql`` : sql`AND took_ms >= ${minMs}`}
    ${contains === undefined ? sql`` : sql`AND strpos(lower(query), lower(${contains})) > 0`}`;
}

/** List searches, newest first. @param page.after id of the last search on the previous page */
export async function selectSearches(
  sql: Sql,
  caller: Caller,
  conditions: SearchConditions,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<LogEntry[]> {
  const rows = await sql`
    SELECT * FROM search_log
    WHERE ${loggedFor(sql, caller, conditions)}
      ${after === undefined ? sql`` : sql`AND (asked_at, id) < (SELECT s.asked_at, s.id FROM search_log s WHERE s.org_id = ${caller.orgId} AND s.id = ${after})`}
    ORDER BY asked_at DESC, id DESC LIMIT ${limit}`;
  return withDocuments(sql, caller, rows);
}

/** List the slowest searches. */
export async function selectSlowest(
  sql: Sql,
  caller: Caller,
  conditions: SearchConditions,
  rowsMax: number,
): Promise<LogEntry[]> {
  const rows = await sql`
    SELECT * FROM search_log WHERE ${loggedFor(sql, caller, conditions)} ORDER BY took_ms DESC, id LIMIT ${rowsMax}`;
  return withDocuments(sql, caller, rows);
}

/** Return the query and the buckets of a search, or null if the log doesn't contain it. */
export async function selectSearch(
  sql: Sql,
  caller: Caller,
  id: string,
): Promise<{ readonly query: string; readonly bucketIds: string[] } | null> {
  const [row] = await sql<{ query: string; bucketIds: string[] }[]>`
    SELECT query, bucket_ids AS "bucketIds" FROM search_log
    WHERE id = ${id} AND ${loggedFor(sql, caller)}`;
  return row ?? null;
}

/** Delete at most `rowsMax` searches that are too old or whose organization no longer keeps queries. */
export async function deleteOldSearches(sql: Sql, settings: SearchLogSettings, rowsMax: number): Promise<void> {
  await sql`
    DELETE FROM search_log WHERE id IN (
      SELECT id FROM search_log WHERE asked_at <= now() - ${settings.keptMs}::float8 * interval '1 millisecond'
      ORDER BY asked_at LIMIT ${rowsMax} FOR UPDATE SKIP LOCKED)`;
  await sql`
    DELETE FROM search_log WHERE id IN (
      SELECT search_log.id FROM organizations JOIN search_log ON search_log.org_id = organizations.id
      WHERE NOT ${keepsAtLeast(sql, settings, 'queries')} LIMIT ${rowsMax})`;
}

type Row = Record<string, unknown>;

/** Convert rows to log entries, with the names of the opened documents that the caller may see. */
async function withDocuments(sql: Sql, caller: Caller, rows: readonly Row[]): Promise<LogEntry[]> {
  const ids = [...new Set(rows.flatMap((row) => row['opened'] as string[]))];
  const documents =
    ids.length === 0
      ? []
      : await sql<{ id: string; file_name: string }[]>`
          SELECT id, file_name FROM documents
          WHERE org_id = ${caller.orgId} AND id = ANY(${sql.array(ids)}::text[]) AND ${visibleTo(sql, caller)}`;
  const byId = new Map(documents.map((document) => [document.id, document]));
  return rows.map((row) => toEntry(row, byId));
}

function toEntry(row: Row, documents: ReadonlyMap<string, { id: string; file_name: string }>): LogEntry {
  const { org_id: _, asked_at: askedAt, opened, ...fields } = row as Row & { asked_at: Date; opened: string[] };
  return {
    ...(fields as Omit<LogEntry, 'asked_at' | 'opened'>),
    asked_at: askedAt.toISOString(),
    opened: opened.flatMap((id) => documents.get(id) ?? []),
  };
}
