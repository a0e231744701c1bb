import { setTimeout as delay } from 'node:timers/promises';
import type { JobKind } from '../jobs/schema.ts';
import type { Service } from '../platform/lifecycle.ts';
import { note } from './output.ts';
import { openProgress, type Progress } from './progress.ts';
import type { Session } from './session.ts';

/** Time after Ctrl-C at which a command's worker returns its jobs to the queue. */
const DRAIN_MS = 2_000;
const POLL_MS = 200;
/** Interval at which to check that a worker is still alive. */
const WORKER_CHECK_MS = 5_000;

/** Worker inside a command that waits for jobs, used while no other worker is alive. */
export interface OwnWorker {
  /** Start it unless another worker is alive. */
  ensure(): Promise<void>;
  /**
   * Call `check` until it returns a result. Meanwhile, ensure that a worker is alive.
   * @throws the reason of the signal
   */
  waitFor<T>(check: () => Promise<T | null>): Promise<T>;
  stop(): Promise<void>;
}

export function ownWorker(session: Session, signal: AbortSignal, kind: JobKind = 'ingest'): OwnWorker {
  const options = { drainMs: DRAIN_MS };
  const started: Service[] = [];
  async function ensure(): Promise<void> {
    if (started.length > 0 || (await session.call('jobs.hasWorker', { kind }))) return;
    const appliance = await session.open();
    // The reaper starts too, because a killed worker may have left leases.
    const worker = kind === 'bulk' ? appliance.jobs.worker('embed', options) : appliance.jobs.worker('ingest', options);
    for (const service of [appliance.reaper(), worker]) {
      started.push(service);
      await service.start(signal);
    }
  }
  return {
    ensure,
    async waitFor(check) {
      for (let nextCheckMs = 0; ; ) {
        if (performance.now() >= nextCheckMs) {
          await ensure();
          nextCheckMs = performance.now() + WORKER_CHECK_MS;
        }
        const result = await check();
        if (result !== null) return result;
        await delay(POLL_MS, undefined, { signal });
      }
    },
    async stop() {
      for (const service of started.splice(0).reverse()) await service.stop();
    },
  };
}

/**
 * Call `check` until it returns a result, and show its progress. If no worker is alive, run one in this process
 * meanwhile.
 *
 * @param options.kept what remains after an abort, for a note
 * @throws AppError `interrupted`, and what `check` throws
 */
export async function waitWithWorker<T>(
  session: Session,
  { kind, kept, signal }: { readonly kind: JobKind; readonly kept: string; readonly signal: AbortSignal },
  check: (progress: Progress) => Promise<T | null>,
): Promise<T> {
  const worker = ownWorker(session, signal, kind);
  const progress = await openProgress();
  try {
    return await worker.waitFor(() => check(progress));
  } catch (error) {
    progress.close();
    if (signal.aborted) note(`interrupted: ${kept}`);
    throw error;
  } finally {
    progress.close();
    await worker.stop();
  }
}
