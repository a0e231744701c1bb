import { lockBucket } from '../../documents/store.ts';
import { findReindexJob } from '../../index/writing/reindex-store.ts';
import { type JobNotifier, notifyWorkers } from '../../jobs/notifier.ts';
import { enqueueJob } from '../../jobs/store.ts';
import type { Chore } from '../../platform/chores.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import { DEFERRED, REINDEX } from './reembed-job.ts';
import { type DeferredBucket, selectDeferredBuckets } from './store.ts';

/** Lower priority than uploads and edits, so that keyword search finds documents first. */
const PRIORITY = 5;
/**
 * Pause after a bucket's last ready document before its vectors are started, so that the model doesn't slow down the
 * rest of an upload; and the maximum delay that a stream of documents may cause.
 */
const PAUSE_MS = 500;
const PUT_OFF_MS_MAX = 10_000;
/** Delay before documents that became ready during a job get another job. */
const REPEAT_MS = 2_000;

interface Context {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
}

/**
 * Queue of jobs that compute the vectors of documents that keyword search already finds. A local model takes a fraction
 * of a second per chunk, so no upload waits for it.
 */
export class DeferredVectors {
  readonly #context: Context;
  /** Timers by bucket, with the time of the first document that each is waiting for. */
  readonly #waiting = new Map<string, { readonly timer: NodeJS.Timeout; readonly sinceMs: number }>();
  #isClosed = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Queue a job for a bucket once no document has become ready for a moment, unless one is queued by then. */
  soon(bucketId: string, afterMs = PAUSE_MS): void {
    if (this.#isClosed) return;
    const waiting = this.#waiting.get(bucketId);
    const now = performance.now();
    if (waiting !== undefined && now + afterMs > waiting.sinceMs + PUT_OFF_MS_MAX) return;
    clearTimeout(waiting?.timer);
    const timer = setTimeout(() => {
      this.#waiting.delete(bucketId);
      void this.#queue(bucketId);
    }, afterMs);
    this.#waiting.set(bucketId, { timer: timer.unref(), sinceMs: waiting?.sinceMs ?? now });
  }

  /** Create the chore that finds buckets left over by an ended process. */
  chore(everyMs: number): Chore {
    const { sql } = this.#context;
    return {
      name: 'vectors of documents',
      everyMs,
      run: async (signal) => {
        for (const bucket of await selectDeferredBuckets(sql, null)) {
          signal.throwIfAborted();
          await enqueueDeferred(this.#context, bucket);
        }
      },
    };
  }

  close(): void {
    this.#isClosed = true;
    for (const { timer } of this.#waiting.values()) clearTimeout(timer);
    this.#waiting.clear();
  }

  async #queue(bucketId: string): Promise<void> {
    try {
      const [bucket] = await selectDeferredBuckets(this.#context.sql, bucketId);
      if (bucket === undefined) return;
      // The job in progress may have passed the newest documents.
      if (!(await enqueueDeferred(this.#context, bucket))) this.soon(bucketId, REPEAT_MS);
    } catch (error) {
      this.#context.logger.debug({ err: error, bucketId }, 'a job for vectors was not queued; the reaper queues it');
    }
  }
}

/** Queue a job for the vectors of a bucket. @returns false if another job is working on its index */
async function enqueueDeferred(
  { sql, notifier, logger }: Context,
  { orgId, bucketId, name }: DeferredBucket,
): Promise<boolean> {
  const isQueued = await sql
    .begin(async (tx) => {
      await lockBucket(tx, orgId, bucketId);
      if ((await findReindexJob(tx, bucketId)) !== null) return false;
      await enqueueJob(tx, {
        id: newId('job'),
        kind: REINDEX,
        orgId,
        bucketId,
        priority: PRIORITY,
        s3Key: '',
        fileName: name,
        fileSizeBytes: 0,
        processingType: DEFERRED,
        metadataSnapshot: { requested_by: 'service' },
      });
      return true;
    })
    .catch((error: unknown) => {
      // The bucket is being deleted.
      if (error instanceof AppError && error.code === 'bucket_not_found') return true;
      throw error;
    });
  if (isQueued) await notifyWorkers({ notifier, logger }, REINDEX);
  return isQueued;
}
