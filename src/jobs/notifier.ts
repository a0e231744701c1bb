import { listenChannel, type Sql } from '../platform/postgres.ts';
import type { JobKind } from './schema.ts';

/** What a worker does when it hears of something. Neither may throw. */
export interface NotificationListener {
  /**
   * Something may be queued. Answers whether there is room for it: where a bell reaches one worker only, one without
   * room lets the next worker hear it.
   */
  onNotification(): boolean;
  /** This job was cancelled or reaped; null: any may have been. Whoever works on it should look at its lease now. */
  onLost(jobId: string | null): void;
}

/**
 * Tells workers that something is queued, or that a job was taken from whoever works on it. It carries no truth and
 * owns nothing: a lost bell costs the time until the worker's next sweep, a lost recall the time until its next
 * heartbeat, never a job. Ring after the transaction that changed the job has committed.
 *
 * Every driver passes test/conformance/notifier.ts.
 */
export interface JobNotifier {
  /** @throws what the driver's connection throws; the job is queued all the same */
  notifyQueued(kind: JobKind): Promise<void>;
  /** @throws as `notifyQueued` does */
  notifyLost(kind: JobKind, jobId: string): Promise<void>;
  /**
   * Listen until `signal` aborts. Both are called whenever calls may have been missed: after a reconnection. Resolves
   * when it listens, or cannot for now and will as soon as it can.
   */
  listen(kind: JobKind, listener: NotificationListener, signal: AbortSignal): Promise<void>;
}

const CHANNEL = 'service_jobs';
const RECALL = 'recall';

/** The notifier over PostgreSQL's own LISTEN / NOTIFY. `direct` must not go through a transaction pooler. */
export function openPostgresNotifier(sql: Sql, direct: Sql): JobNotifier {
  return {
    async notifyQueued(kind) {
      await sql`SELECT pg_notify(${CHANNEL}, ${kind})`;
    },
    async notifyLost(kind, jobId) {
      await sql`SELECT pg_notify(${CHANNEL}, ${`${kind} ${RECALL} ${jobId}`})`;
    },
    async listen(kind, listener, signal) {
      await listenChannel(
        direct,
        CHANNEL,
        (payload) => {
          if (payload === null) {
            listener.onLost(null);
            listener.onNotification();
          } else if (payload === kind) {
            listener.onNotification();
          } else if (payload.startsWith(`${kind} ${RECALL} `)) {
            listener.onLost(payload.slice(`${kind} ${RECALL} `.length));
          }
        },
        { signal },
      );
    },
  };
}
