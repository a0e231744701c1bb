import { listenChannel, type Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';

/** What a worker does when it hears of something. Neither may throw. */
export interface DoorbellListener {
  /**
   * Something may be queued. Answers whether there is room for it: where a bell reaches one worker only, one without
   * room lets the next worker hear it.
   */
  onBell(): boolean;
  /** This job was cancelled or reaped; null: any may have been. Whoever works on it should look at its lease now. */
  onRecall(jobId: string | null): void;
}

/**
 * Tells workers that something is queued, or that a job was taken from whoever works on it. It carries no truth and
 * owns nothing: a lost bell costs the time until the worker's next sweep, a lost recall the time until its next
 * heartbeat, never a job. Ring after the transaction that changed the job has committed.
 *
 * Every driver passes test/conformance/doorbell.ts.
 */
export interface Doorbell {
  /** @throws what the driver's connection throws; the job is queued all the same */
  ring(kind: JobKind): Promise<void>;
  /** @throws as `ring` does */
  recall(kind: JobKind, jobId: string): Promise<void>;
  /**
   * Listen until `signal` aborts. Both are called whenever calls may have been missed: after a reconnection. Resolves
   * when it listens, or cannot for now and will as soon as it can.
   */
  listen(kind: JobKind, listener: DoorbellListener, signal: AbortSignal): Promise<void>;
}

const CHANNEL = 'service_jobs';
const RECALL = 'recall';

/** The doorbell over PostgreSQL's own LISTEN / NOTIFY. `direct` must not go through a transaction pooler. */
export function openPostgresDoorbell(sql: Sql, direct: Sql): Doorbell {
  return {
    async ring(kind) {
      await sql`SELECT pg_notify(${CHANNEL}, ${kind})`;
    },
    async recall(kind, jobId) {
      await sql`SELECT pg_notify(${CHANNEL}, ${`${kind} ${RECALL} ${jobId}`})`;
    },
    async listen(kind, listener, signal) {
      await listenChannel(
        direct,
        CHANNEL,
        (payload) => {
          if (payload === null) {
            listener.onRecall(null);
            listener.onBell();
          } else if (payload === kind) {
            listener.onBell();
          } else if (payload.startsWith(`${kind} ${RECALL} `)) {
            listener.onRecall(payload.slice(`${kind} ${RECALL} `.length));
          }
        },
        { signal },
      );
    },
  };
}
