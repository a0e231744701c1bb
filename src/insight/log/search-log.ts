import { Counter, type Registry } from 'prom-client';
import type { Caller } from '../../access/caller.ts';
import { notFound } from '../../platform/errors.ts';
import { idTimeMs, newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import { repeatingTask } from '../../platform/repeating-task.ts';
import type { LogLevel, SearchLogSettings } from '../../platform/search-settings.ts';
import { currentWork } from '../../platform/work-context.ts';
import type { Asker, Searched, SearchRecorder } from '../../search/search-recorder.ts';
import { openSearchCounts } from '../search-counts.ts';
import { levelFor, selectLevels } from './level-store.ts';
import { applyNotes, insertSearches, type LoggedSearch, type SearchNote } from './log-store.ts';
import { QUERY_CHARS_MAX } from './schema.ts';

const FLUSH_EVERY_MS = 1_000;
/** Maximum number of unwritten searches and notes that a process holds. It drops and counts any more. */
const ROWS_MAX = 5_000;
const NOTES_MAX = 5_000;
/** Delay before notes are written, so that other processes have written the searches that they refer to. */
const NOTE_AFTER_MS = 3 * FLUSH_EVERY_MS;

/** Recorder of search counts and of the search log. A crash loses the last second (counts: the last five). */
export interface SearchLog extends SearchRecorder {
  /** Record that a document was opened from the results of a search. */
  opened(orgId: string, searchId: string, documentId: string): void;
  /** Record that the answer based on a search was rated. */
  rated(orgId: string, searchId: string, helpful: boolean): void;
  /** Record feedback on a search. @throws AppError `search_not_found` (404) */
  giveFeedback(orgId: string, searchId: string, feedback: { helpful: boolean; chunkId: string | null }): Promise<void>;
  /** Apply a changed level at once. Other processes apply it within a second of their next search. */
  readLevel(orgId: string): Promise<void>;
  /** Write everything that was recorded before this call. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface LogContext {
  readonly sql: Sql;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly settings: SearchLogSettings;
  /** True to log questions from messengers like any other search. */
  readonly keepsMessengers: boolean;
}

export async function openSearchLog(context: LogContext): Promise<SearchLog> {
  const { sql, logger, settings } = context;
  const counts = await openSearchCounts({ sql, logger, settings });
  const batch = new Batch(context);
  await batch.readLevels(null);
  const writing = repeatingTask('search log', FLUSH_EVERY_MS, logger, () => batch.flush());
  await writing.start(new AbortController().signal);
  return {
    record(caller, searched) {
      const tookMs = performance.now() - searched.beganMs;
      const level = batch.levelOf(caller.orgId);
      counts.add(caller.orgId, searched.bucketIds, level === 'off' ? null : { ...searched, tookMs });
      return level === 'queries' ? batch.add(caller, searched, tookMs) : null;
    },
    opened: (orgId, id, documentId) => batch.note(noteOf(orgId, id, { opened: [documentId] })),
    rated: (orgId, id, helpful) => batch.note(noteOf(orgId, id, { helpful })),
    async giveFeedback(orgId, id, { helpful, chunkId }) {
      const note = noteOf(orgId, id, { helpful, chunk_id: chunkId });
      if ((await applyNotes(sql, [note])).length > 0) return;
      const ageMs = Math.abs(Date.now() - (idTimeMs(id) ?? 0));
      if (!id.startsWith('srch_') || ageMs > NOTE_AFTER_MS) throw notFound('search', id);
      batch.note(note);
    },
    readLevel: (orgId) => batch.readLevels([orgId]),
    async flush() {
      await Promise.all([counts.flush(), batch.flush()]);
    },
    async close() {
      await writing.stop();
      const warn = (error: unknown) => logger.warn({ err: error }, 'the last searches were not written to the log');
      await batch.flush({ isLast: true }).catch(warn);
      await counts.close();
    },
  };
}

function noteOf(orgId: string, id: string, note: Partial<SearchNote>): SearchNote {
  return { id, org_id: orgId, opened: [], helpful: null, chunk_id: null, ...note };
}

/** Searches and notes of this process that have not been written yet. */
class Batch {
  readonly #context: LogContext;
  readonly #dropped: Counter;
  #levels = new Map<string, LogLevel>();
  /** Organizations that searched since their levels were last read. */
  #searching = new Set<string>();
  #rows: LoggedSearch[] = [];
  #notes: { readonly note: SearchNote; readonly atMs: number }[] = [];

  constructor(context: LogContext) {
    this.#context = context;
    this.#dropped = new Counter({
      name: 'service_search_log_dropped_total',
      help: 'Searches that were answered and not written to the search log, since too many waited.',
      registers: [context.registry],
    });
  }

  levelOf(orgId: string): LogLevel {
    if (this.#searching.size < ROWS_MAX) this.#searching.add(orgId);
    return levelFor(this.#context.settings, this.#levels.get(orgId) ?? null);
  }

  add(caller: Caller, searched: Searched, tookMs: number): string | null {
    if (caller.kind === 'channel' && !this.#context.keepsMessengers) return null;
    if (this.#rows.length >= ROWS_MAX) {
      this.#dropped.inc();
      return null;
    }
    const id = newId('srch');
    this.#rows.push({
      id,
      org_id: caller.orgId,
      asked_at: new Date().toISOString(),
      bucket_ids: searched.bucketIds,
      query: loggedText(searched.query),
      asked_by: searched.askedBy ?? askerOf(caller),
      mode: searched.mode,
      took_ms: Math.round(tookMs),
      results: searched.results,
      relevance: searched.relevance,
      request_id: currentWork()?.requestId ?? null,
    });
    return id;
  }

  note(note: SearchNote): void {
    if (this.#notes.length < NOTES_MAX) this.#notes.push({ note, atMs: Date.now() });
  }

  /** Read the levels of organizations. @param orgIds null for all organizations */
  async readLevels(orgIds: readonly string[] | null): Promise<void> {
    const levels = await selectLevels(this.#context.sql, orgIds);
    if (orgIds === null) this.#levels = levels;
    for (const id of orgIds ?? []) {
      const level = levels.get(id);
      if (level === undefined) this.#levels.delete(id);
      else this.#levels.set(id, level);
    }
  }

  async flush({ isLast = false } = {}): Promise<void> {
    await this.#writeRows();
    const searching = [...this.#searching];
    this.#searching = new Set();
    if (searching.length > 0) await this.readLevels(searching);
    await this.#writeNotes(isLast ? Number.POSITIVE_INFINITY : Date.now() - NOTE_AFTER_MS);
  }

  async #writeRows(): Promise<void> {
    const rows = this.#rows;
    if (rows.length === 0) return;
    this.#rows = [];
    try {
      await insertSearches(this.#context.sql, this.#context.settings, rows);
    } catch (error) {
      // Put the failed rows back in front. On overflow, the newest rows are dropped.
      const kept = [...rows, ...this.#rows].slice(0, ROWS_MAX);
      this.#dropped.inc(rows.length + this.#rows.length - kept.length);
      this.#rows = kept;
      throw error;
    }
  }

  async #writeNotes(untilMs: number): Promise<void> {
    const due = this.#notes.filter(({ atMs }) => atMs <= untilMs);
    if (due.length === 0) return;
    this.#notes = this.#notes.filter(({ atMs }) => atMs > untilMs);
    await applyNotes(this.#context.sql, merged(due.map(({ note }) => note)));
  }
}

/** Merge notes on the same search into one. */
function merged(notes: readonly SearchNote[]): SearchNote[] {
  const byId = new Map<string, SearchNote>();
  for (const note of notes) {
    const before = byId.get(note.id);
    if (before?.org_id !== undefined && before.org_id !== note.org_id) continue;
    byId.set(note.id, {
      ...note,
      opened: [...(before?.opened ?? []), ...note.opened],
      ...(note.helpful === null && before ? { helpful: before.helpful, chunk_id: before.chunk_id } : {}),
    });
  }
  return [...byId.values()];
}

/** Truncate a query and put it on one line. */
function loggedText(query: string): string {
  const text = query.slice(0, 4 * QUERY_CHARS_MAX).replace(/[\p{Cc}\s]+/gu, ' ');
  return text.trimStart().slice(0, QUERY_CHARS_MAX).trimEnd().toWellFormed();
}

function askerOf({ kind }: Caller): Asker {
  if (kind === 'api_key') return 'key';
  if (kind === 'grant') return 'client';
  return kind === 'channel' ? 'messenger' : 'person';
}
