import { setTimeout as delay } from 'node:timers/promises';
import { openReads } from '../appliance/stores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';

/** Time within which the replica must prove usable, and polling interval. */
const MS_MAX = 5_000;
const STEP_MS = 100;

/** Check if the replica answers reads. Without it, the service still works, because the primary answers instead. */
export async function judgeReplica(
  primary: Sql,
  config: Config,
  logger: Logger,
): Promise<{ readonly status: 'ok' | 'warning'; readonly detail: string }> {
  const reads = openReads(config, primary, { poolMax: 1, logger });
  try {
    reads.watch();
    const endMs = performance.now() + MS_MAX;
    while (reads.replica?.state !== 'ok' && performance.now() < endMs) await delay(STEP_MS);
    const { state = '', lagMs = null } = reads.replica ?? {};
    if (state !== 'ok') return { status: 'warning', detail: `${state}; the primary answers instead` };
    return { status: 'ok', detail: `answers reads, ${Math.round(lagMs ?? 0)} ms behind` };
  } finally {
    await reads.close();
  }
}
