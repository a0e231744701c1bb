import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from '../../client/schema.ts';
import type { ServiceApi } from '../../client/service-api.ts';

/** States of a job in order. A retried job may go back. */
const STATES = ['queued', 'extracting', 'chunking', 'embedding', 'indexing', 'ready'];
const ENDS = new Set(['ready', 'failed', 'cancelled']);
const FIRST_PAUSE_MS = 100;
const PAUSE_MS_MAX = 2_000;

/** Number of steps of a job that `awaitJob` can report. */
export const JOB_STEPS = STATES.length;

/**
 * Wait until a document's job has ended, or for some time. Aborting the wait doesn't abort the job.
 * @param onStep called for each state beyond all earlier ones, with its number from 1
 * @returns the last known state of the job
 */
export async function awaitJob(
  api: ServiceApi,
  id: string,
  options: { readonly withinMs: number; readonly signal: AbortSignal; onStep(step: number, status: string): void },
): Promise<Job> {
  const { withinMs, signal, onStep } = options;
  const endMs = performance.now() + withinMs;
  let furthest = 0;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
    const job = await api.findJob(id, signal);
    const step = STATES.indexOf(job.status) + 1;
    if (step > furthest) {
      furthest = step;
      onStep(step, job.status);
    }
    const leftMs = endMs - performance.now();
    if (ENDS.has(job.status) || leftMs <= 0) return job;
    await delay(Math.min(pauseMs, leftMs), undefined, { signal });
  }
}
