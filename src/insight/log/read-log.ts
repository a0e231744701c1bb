import type { Caller } from '../../access/caller.ts';
import { findBucket } from '../../documents/store.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { SearchLogSettings } from '../../platform/search-settings.ts';
import { toCsv } from './csv.ts';
import { levelFor, selectLevel } from './level-store.ts';
import { type SearchConditions, selectSearches, selectSlowest } from './log-store.ts';
import type { LogEntry, LogFilter, LogSummary, SearchLogLevel } from './schema.ts';
import { selectAsked, selectAskers, selectDays } from './summary-store.ts';

const DAY_MS = 86_400_000;
const QUERIES_SHOWN = 20;
const EXPORT_ROWS = 1_000;

/** Return how much an organization keeps of its searches. */
export async function readLevel(sql: Sql, settings: SearchLogSettings, orgId: string): Promise<SearchLogLevel> {
  const chosen = await selectLevel(sql, orgId);
  return {
    level: levelFor(settings, chosen),
    chosen,
    level_max: settings.levelMax,
    retention_days: settings.keptMs / DAY_MS,
  };
}

/**
 * List searches, newest first. The list is empty if the organization doesn't keep queries, even while a sweep has yet
 * to delete older ones.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function listSearches(
  sql: Sql,
  settings: SearchLogSettings,
  caller: Caller,
  filter: LogFilter,
  page: { readonly limit: number; readonly after?: string | undefined },
): Promise<LogEntry[]> {
  const conditions = await conditionsOf(sql, settings, caller, filter);
  const { level } = await readLevel(sql, settings, caller.orgId);
  return level === 'queries' ? selectSearches(sql, caller, conditions, page) : [];
}

/** Summarize the searches of the last days. @throws AppError `bucket_not_found` (404) */
export async function summarizeSearches(
  sql: Sql,
  settings: SearchLogSettings,
  caller: Caller,
  { days, bucket }: { readonly days: number; readonly bucket?: string | undefined },
): Promise<LogSummary> {
  const start = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const conditions = await conditionsOf(sql, settings, caller, { since: `${start}T00:00:00Z`, bucket });
  const level = await readLevel(sql, settings, caller.orgId);
  const byDay = await selectDays(sql, caller, { start, bucketId: conditions.bucketId });
  const summary = { level, by_day: byDay, askers: [], helpful: 0, not_helpful: 0, top: [], unanswered: [], slow: [] };
  if (level.level !== 'queries') return summary;
  return {
    ...summary,
    ...(await selectAskers(sql, caller, conditions)),
    top: await selectAsked(sql, caller, conditions, QUERIES_SHOWN),
    unanswered: await selectAsked(sql, caller, { ...conditions, unanswered: true }, QUERIES_SHOWN),
    slow: await selectSlowest(sql, caller, conditions, QUERIES_SHOWN),
  };
}

/**
 * List the most frequent queries of a bucket. The list is empty if the organization doesn't keep queries.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function listAskedMost(
  sql: Sql,
  settings: SearchLogSettings,
  caller: Caller,
  bucket: string,
  rowsMax: number,
): Promise<string[]> {
  const conditions = await conditionsOf(sql, settings, caller, { bucket });
  const { level } = await readLevel(sql, settings, caller.orgId);
  if (level !== 'queries') return [];
  return (await selectAsked(sql, caller, conditions, rowsMax)).map(({ query }) => query);
}

/** Write the log as NDJSON or CSV, newest search first, one page at a time. @throws the errors of `listSearches` */
export async function* exportSearches(
  sql: Sql,
  settings: SearchLogSettings,
  caller: Caller,
  { format, ...filter }: LogFilter & { readonly format: 'ndjson' | 'csv' },
): AsyncGenerator<string, void> {
  let after: string | undefined;
  if (format === 'csv') yield toCsv(COLUMNS, []);
  for (;;) {
    const entries = await listSearches(sql, settings, caller, filter, { limit: EXPORT_ROWS, after });
    after = entries.at(-1)?.id;
    if (entries.length > 0) yield format === 'csv' ? toCsv(null, entries.map(toCells)) : toLines(entries);
    if (entries.length < EXPORT_ROWS) return;
  }
}

const COLUMNS = [
  ...['id', 'asked_at', 'query', 'bucket_ids', 'asked_by', 'mode', 'took_ms', 'results', 'relevance'],
  ...['opened', 'helpful', 'chunk_id', 'request_id'],
] as const satisfies (keyof LogEntry)[];

function toLines(entries: readonly LogEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}

function toCells(entry: LogEntry): (string | number)[] {
  const { bucket_ids: bucketIds, opened, helpful } = entry;
  const listed = { bucket_ids: bucketIds.join(' '), opened: opened.map(({ id }) => id).join(' ') };
  const cells = { ...entry, ...listed, helpful: helpful === null ? '' : String(helpful) };
  return COLUMNS.map((column) => cells[column] ?? '');
}

/** Convert a filter to conditions. Expired searches are hidden even before a sweep deletes them. */
async function conditionsOf(
  sql: Sql,
  settings: SearchLogSettings,
  caller: Caller,
  { since, bucket, unanswered, min_ms: minMs, contains }: LogFilter,
): Promise<SearchConditions> {
  const sinceMs = Math.max(since === undefined ? 0 : Date.parse(since), Date.now() - settings.keptMs);
  const bucketId = bucket === undefined ? undefined : (await findBucket(sql, caller, bucket)).id;
  return { since: new Date(sinceMs), bucketId, unanswered, minMs, contains };
}
