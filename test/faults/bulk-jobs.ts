import { setTimeout as delay } from 'node:timers/promises';
import { findBulkJob } from '../../src/bulk/bulk.ts';
import { readResult } from '../../src/bulk/result-page.ts';
import { BulkRequest } from '../../src/bulk/schema.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import { type Fleet, TINY } from './fleet.ts';

export const TEXTS = 10_000;
const NEVER = new AbortController().signal;

export function textsOf(name: string, count = TEXTS): string[] {
  return Array.from({ length: count }, (_, i) => `${name} text ${i}`);
}

export async function submitTexts(fleet: Fleet, texts: readonly string[]): Promise<string> {
  const request = BulkRequest.parse({ texts, model: TINY.id });
  return (await submitBulkJob(fleet.appliance.bulk, fleet.operator, request, NEVER)).reply.id;
}

/** Keep bulk jobs of 10,000 texts in the queue until it is stopped. @param waiting number of unfinished jobs */
export function feedBulkJobs(fleet: Fleet, waiting: number): { stop(): Promise<Map<string, string>> } {
  const { sql } = fleet.appliance;
  const stop = new AbortController();
  /** Names of the texts, by job. */
  const jobs = new Map<string, string>();
  const feeding = (async () => {
    while (!stop.signal.aborted) {
      const open = await sql`SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
      for (let i = open.length; i < waiting; i++) {
        const name = `job ${jobs.size}`;
        jobs.set(await submitTexts(fleet, textsOf(name)), name);
      }
      await delay(100, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  return {
    async stop() {
      stop.abort();
      await feeding;
      return jobs;
    },
  };
}

/** Count the faults of a job that should be ready: vectors that are missing, duplicate, or not of their text. */
export async function checkBulkJob(
  fleet: Fleet,
  id: string,
  texts: readonly string[],
): Promise<{ lost: number; doubled: number }> {
  const { appliance, operator, upstream } = fleet;
  const job = await findBulkJob(appliance.sql, operator.orgId, id);
  if (job.status !== 'ready') return { lost: texts.length, doubled: 0 };
  let at = 0;
  let right = 0;
  for await (const { vectors } of readResult(appliance.bulk, job)) {
    for (let row = 0; row < vectors.length / TINY.dimensions; row++, at++) {
      const native = upstream.vectorOf('tiny', texts[at] ?? '');
      const vector = vectors.subarray(row * TINY.dimensions, (row + 1) * TINY.dimensions);
      const norm = Math.hypot(...native);
      if (vector.every((value, axis) => Math.abs(value - (native[axis] as number) / norm) < 1e-6)) right++;
    }
  }
  return { lost: Math.max(0, texts.length - right), doubled: Math.max(0, at - texts.length) };
}
