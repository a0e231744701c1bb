import { z } from 'zod';
import { LOG_LEVELS } from '../../platform/search-settings.ts';
import { textInteger } from '../../platform/zod-integers.ts';
import { Relevance } from '../../search/relevance/schema.ts';
import { ASKERS } from '../../search/search-recorder.ts';

/** Maximum length of a logged query. */
export const QUERY_CHARS_MAX = 500;
/** Duration from which a search counts as slow. */
export const SLOW_MS = 1_000;
/** Maximum number of opened documents recorded per search. */
export const OPENED_MAX = 20;
export const GRADE_MAX = 3;

const Level = z.enum(LOG_LEVELS);

/** Level at which an organization keeps its searches. */
export const SearchLogLevel = z
  .object({
    level: Level.describe('level in force: off, counts (numbers by day), or queries (also the text of queries)'),
    chosen: Level.nullable().describe('level that the organization chose; null: that of the operator'),
    level_max: Level.describe('highest level that the operator allows'),
    retention_days: z.number().describe('days for which queries are kept'),
  })
  .meta({ id: 'SearchLogLevel' });
export type SearchLogLevel = z.output<typeof SearchLogLevel>;

/** Body of `PUT /v1/search/log/level`. */
export const LevelChange = z.object({ level: Level.nullable().describe('null: the level of the operator') });

/** Filter for log entries. */
export const LogFilter = z.object({
  since: z.iso.datetime({ offset: true }).optional().describe('only searches from this time on'),
  bucket: z.string().min(1).max(200).optional().describe('id or name: only searches of this bucket'),
  unanswered: z
    .stringbool('must be true or false')
    .meta({ type: 'boolean' })
    .optional()
    .describe('true: only searches whose results do not seem to answer the query'),
  min_ms: textInteger(z.int().min(0).max(3_600_000).optional()).describe('only searches that took this long'),
  contains: z.string().min(1).max(200).optional().describe('only queries with this text, in any case'),
});
export type LogFilter = z.output<typeof LogFilter>;

/** Logged search. */
export const LogEntry = z
  .object({
    id: z.string().describe('search_id of its response'),
    asked_at: z.iso.datetime(),
    query: z.string().describe(`cut after ${QUERY_CHARS_MAX} characters`),
    bucket_ids: z.array(z.string()),
    asked_by: z.enum(ASKERS),
    mode: z.enum(['hybrid', 'vector', 'keyword']),
    took_ms: z.int(),
    results: z.int(),
    relevance: Relevance,
    opened: z
      .array(z.object({ id: z.string(), file_name: z.string() }))
      .describe('documents opened from the results, if the reader of the log may see them'),
    helpful: z.boolean().nullable().describe('feedback; null: none was given'),
    chunk_id: z.string().nullable().describe('result that the feedback is about; null: the whole search'),
    request_id: z.string().nullable(),
  })
  .meta({ id: 'SearchLogEntry' });
export type LogEntry = z.output<typeof LogEntry>;

const amount = z.int().min(0);

const Asked = z.object({
  query: z.string().describe('text of the query in the search of last_id; other searches may differ in case'),
  searches: amount,
  unanswered: amount,
  last_id: z.string().describe('id of the last search without an answer, or of the last search'),
  last_at: z.iso.datetime(),
  bucket_ids: z.array(z.string()).describe('buckets of that search'),
});
export type Asked = z.output<typeof Asked>;

export const SummaryQuery = z.object({
  days: textInteger(z.int().min(1).max(400).default(30)).describe('days until now, in UTC'),
  bucket: z.string().min(1).max(200).optional().describe('id or name: only searches of this bucket'),
});

/** Summary of the search log. Its lists of queries are empty if the organization doesn't keep queries. */
export const LogSummary = z
  .object({
    level: SearchLogLevel,
    by_day: z
      .array(z.object({ date: z.string(), searches: amount, unanswered: amount, slow: amount, mean_ms: amount }))
      .describe('days with searches, the oldest first'),
    askers: z.array(z.object({ asked_by: z.enum(ASKERS), searches: amount })).describe('most searches first'),
    helpful: amount,
    not_helpful: amount,
    top: z.array(Asked).describe('queries that were asked most'),
    unanswered: z.array(Asked).describe('queries that most often had no answer'),
    slow: z.array(LogEntry).describe('slowest searches'),
  })
  .meta({ id: 'SearchLogSummary' });
export type LogSummary = z.output<typeof LogSummary>;

/** Body of `POST /v1/search/log/{search}/feedback`. */
export const Feedback = z.object({
  helpful: z.boolean(),
  chunk_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('result that the feedback is about; default: the whole search'),
});

/** Body of `POST /v1/search/log/{search}/judgement`. */
export const JudgementRequest = z.object({
  document_id: z.string().min(1).max(100),
  grade: z
    .int()
    .min(0)
    .max(GRADE_MAX)
    .nullable()
    .describe('how well the document answers the query: 0 (not at all) to 3 (fully); null removes the judgement'),
});

/** Grade that a person gave to a document for a query. */
export const Judgement = z
  .object({
    bucket_id: z.string(),
    query: z.string(),
    document_id: z.string(),
    grade: z.int().nullable(),
  })
  .meta({ id: 'SearchJudgement' });
export type Judgement = z.output<typeof Judgement>;
