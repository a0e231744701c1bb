import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import { QUERY_MS, type Sql } from '../platform/postgres.ts';
import { listIndexesWrittenLast } from './bucket-index-store.ts';
import type { LastSeenIndexes } from './early-start.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';

/** Indexes that are learnt, in some 50 ms and 10 MB. */
const LEARNT_MAX = 16_384;

/**
 * Service that shortens first searches: it learns the versions of the indexes that were written last, so that even the first
 * search of a bucket begins while PostgreSQL is asked for the present version, and starts the thread that will hold copies of
 * indexes if there are any.
 */
export function indexLearning(context: {
  readonly sql: Sql;
  readonly lastSeen: LastSeenIndexes;
  /** Null: copies are given no memory. */
  readonly resident: Pick<ResidentIndexes, 'prepare'> | null;
  readonly logger: Logger;
}): Service {
  const { sql, lastSeen, resident, logger } = context;
  let learning = Promise.resolve();
  return {
    name: 'learning of index versions',
    async start(signal) {
      const learn = async () => {
        const limited = sql.limited({ ms: QUERY_MS.report, signal });
        const indexes = await listIndexesWrittenLast(limited, LEARNT_MAX);
        if (indexes.length > 0) resident?.prepare();
        for (const { orgId, bucketName, index } of indexes) {
          for (const bucketRef of [bucketName, index.bucketId])
            if (lastSeen.get(orgId, bucketRef) === undefined) lastSeen.remember(orgId, bucketRef, index);
        }
      };
      learning = learn().catch((error: unknown) => {
        if (!signal.aborted)
          logger.warn(
            { err: error },
            'the versions of the indexes were not learnt; first searches take a little longer',
          );
      });
    },
    stop: () => learning,
  };
}
