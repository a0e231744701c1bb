import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import type { SearchLogSettings } from '../platform/search-settings.ts';
import { SLOW_MS } from './log/schema.ts';
import { addSearchCounts, noteActivity, type SearchCount } from './search-counts-store.ts';

const FLUSH_EVERY_MS = 5_000;
/** Maximum number of counters held while the database is down. Beyond that, new keys are not counted. */
const SUMS_MAX = 10_000;
/** Bucket id that stands for a search across several buckets. */
const SEVERAL_BUCKETS = '';

/** Properties of a search response that are counted. */
interface CountedAnswer {
  readonly results: number;
  readonly relevance: string | null;
  readonly tookMs: number;
}

/** Search counter. Counts are statistics only: a crash loses the last seconds. */
export interface SearchCounts {
  /** Record that these buckets were used, and count a search. @param answer null to count nothing */
  add(orgId: string, bucketIds: readonly string[], answer: CountedAnswer | null): void;
  /** Write all searches that were counted before this call. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export async function openSearchCounts({
  sql,
  logger,
  settings,
}: {
  readonly sql: Sql;
  readonly logger: Logger;
  readonly settings: SearchLogSettings;
}): Promise<SearchCounts> {
  let open = new Map<string, SearchCount>();
  let used = new Set<string>();

  const merge = (count: SearchCount) => {
    const { orgId, day, bucketId } = count;
    const key = `${orgId} ${day} ${bucketId}`;
    const sum = open.get(key);
    if (sum === undefined && open.size >= SUMS_MAX) return;
    open.set(key, {
      orgId,
      day,
      bucketId,
      searches: (sum?.searches ?? 0) + count.searches,
      unanswered: (sum?.unanswered ?? 0) + count.unanswered,
      slow: (sum?.slow ?? 0) + count.slow,
      tookMs: (sum?.tookMs ?? 0) + count.tookMs,
    });
  };

  const flush = async () => {
    if (open.size === 0 && used.size === 0) return;
    const [written, active] = [[...open.values()], used];
    open = new Map();
    used = new Set();
    try {
      await noteActivity(sql, [...active]);
      await addSearchCounts(sql, settings, written);
    } catch (error) {
      for (const count of written) merge(count);
      for (const id of active) used.add(id);
      throw error;
    }
  };

  const writing = repeatingTask('search counts', FLUSH_EVERY_MS, logger, flush);
  await writing.start(new AbortController().signal);
  return {
    add(orgId, bucketIds, answer) {
      if (used.size < SUMS_MAX) for (const id of bucketIds) used.add(id);
      if (answer === null) return;
      const { results, relevance, tookMs } = answer;
      const [bucketId = SEVERAL_BUCKETS, ...others] = bucketIds;
      merge({
        orgId,
        day: new Date().toISOString().slice(0, 10),
        bucketId: others.length > 0 ? SEVERAL_BUCKETS : bucketId,
        searches: 1,
        unanswered: results === 0 || relevance === 'none' ? 1 : 0,
        slow: tookMs >= SLOW_MS ? 1 : 0,
        tookMs: Math.round(tookMs),
      });
    },
    flush,
    async close() {
      await writing.stop();
      await flush().catch((error: unknown) => logger.warn({ err: error }, 'the last searches were not counted'));
    },
  };
}
