import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Sql } from '../platform/postgres.ts';
import { deleteOldSearches } from './log/log-store.ts';
import { openSearchLog, type SearchLog } from './log/search-log.ts';
import { deleteOldSearchCounts } from './search-counts-store.ts';

/** Days for which daily search counts are kept. */
const COUNTS_DAYS = 400;
/** Maximum number of logged searches that one sweep deletes. */
const LOG_ROWS_SWEPT_MAX = 50_000;

/** Search log and search counts, recorded at the level of each organization. */
export interface Insight {
  readonly log: SearchLog;
  readonly chores: (everyMs: number) => readonly Chore[];
  close(): Promise<void>;
}

export async function openInsight({
  config,
  sql,
  logger,
  metrics,
}: {
  readonly config: Pick<Config, 'search' | 'channels'>;
  readonly sql: Sql;
  readonly logger: Logger;
  readonly metrics: Metrics;
}): Promise<Insight> {
  const settings = config.search.log;
  const keepsMessengers = config.channels.keepsQuestions;
  const log = await openSearchLog({ sql, logger, registry: metrics.registry, settings, keepsMessengers });
  return {
    log,
    chores: (everyMs) => [
      {
        name: 'removal of old searches of the log',
        everyMs,
        run: () => deleteOldSearches(sql, settings, LOG_ROWS_SWEPT_MAX),
      },
      { name: 'removal of old search counts', everyMs, run: () => deleteOldSearchCounts(sql, COUNTS_DAYS) },
    ],
    close: () => log.close(),
  };
}
