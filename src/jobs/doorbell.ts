import { listenChannel, type Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';

/**
 * Tells workers that something is queued. It carries no data and owns nothing: a lost bell costs the time
 * until the worker's next sweep, never a job. Ring after the transaction that queued the job has committed.
 */
export interface Doorbell {
  ring(kind: JobKind): Promise<void>;
  /** Calls `onBell` at every ring, and once whenever rings may have been missed (reconnection). */
  listen(kind: JobKind, onBell: () => void, signal: AbortSignal): Promise<void>;
}

const CHANNEL = 'service_jobs';

/** The doorbell over PostgreSQL's own LISTEN / NOTIFY. `direct` must not go through a transaction pooler. */
export function openPostgresDoorbell(sql: Sql, direct: Sql): Doorbell {
  return {
    async ring(kind) {
      await sql`SELECT pg_notify(${CHANNEL}, ${kind})`;
    },
    async listen(kind, onBell, signal) {
      await listenChannel(
        direct,
        CHANNEL,
        (payload) => {
          if (payload === null || payload === kind) onBell();
        },
        { signal },
      );
    },
  };
}
