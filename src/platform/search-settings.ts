import { z } from 'zod';
import { integerSetting, numberSetting } from './number-settings.ts';

const MIB = 1024 * 1024;
const DAY_MS = 24 * 3_600_000;

/** Levels at which searches are logged, from least to most. */
export const LOG_LEVELS = ['off', 'counts', 'queries'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export const searchSettings = {
  search: z
    .strictObject({
      resident_mb: integerSetting(
        { min: 0, max: 65_536, default: 1_024 },
        'memory for copies of the search indexes in use; facts about their documents need up to a tenth of it in addition; 0: no copies',
      ),
      table_cache_mb: integerSetting(
        { min: 64, max: 65_536, default: 1_024 },
        'memory for the indexes of large buckets that have no copy in memory; a bucket of 1,000,000 chunks needs at least 500',
      ),
      result_links: z
        .enum(['console', 'signed'])
        .default('console')
        .describe(
          'links to documents in results; console: page of the console, for people who can sign in; signed: page that opens without sign-in for one hour',
        ),
      log: z
        .enum(LOG_LEVELS)
        .default('counts')
        .describe(
          'information to keep about searches; off: nothing; counts: numbers by day and bucket; queries: also the text of queries, but not who asked. An organization can choose another level',
        ),
      log_max: z
        .enum(LOG_LEVELS)
        .default('queries')
        .describe('highest value of search.log that an organization can choose'),
      log_retention_days: numberSetting(
        { above: 0, max: 3_650, default: 30 },
        'days for which queries are kept; numbers by day are kept for 400 days',
      ),
    })
    .prefault({})
    .describe('searches'),
};

type SearchFile = z.output<z.ZodObject<typeof searchSettings>>;

export interface SearchSettings {
  readonly residentBytes: number;
  readonly tableCacheBytes: number;
  readonly resultLinks: 'console' | 'signed';
  readonly log: SearchLogSettings;
}

/** Level at which searches are logged, and retention of the log. */
export interface SearchLogSettings {
  /** Level of organizations that haven't chosen one. */
  readonly level: LogLevel;
  /** Limit on the level of every organization. */
  readonly levelMax: LogLevel;
  /** Retention of queries. */
  readonly keptMs: number;
}

/** Convert the file's settings to the program's form. */
export function searchConfigOf({ search }: SearchFile): { search: SearchSettings } {
  return {
    search: {
      residentBytes: search.resident_mb * MIB,
      tableCacheBytes: search.table_cache_mb * MIB,
      resultLinks: search.result_links,
      log: { level: search.log, levelMax: search.log_max, keptMs: search.log_retention_days * DAY_MS },
    },
  };
}
