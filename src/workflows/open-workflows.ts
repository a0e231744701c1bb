import { sendNotification } from '../channels/send-notification.ts';
import type { Chore } from '../platform/chores.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { blockOperations, type OperationsContext } from './block-operations.ts';
import { blockTypes } from './block-types.ts';
import type { RunContext } from './execute-run.ts';
import { UNCERTAIN } from './run-blocks.ts';
import { deleteOldRuns, failSilentRuns } from './run-store.ts';

const CRASHED_EVERY_MS = 15_000;
/** Time without a heartbeat after which a run counts as crashed: six heartbeats. */
const SILENT_MS = 30_000;
const RUNS_KEPT_MS = 90 * 24 * 3_600_000;

const CRASHED = {
  run: 'the process that ran it ended; the service neither continues nor repeats the run',
  block: `the process ended while this block ran; ${UNCERTAIN}`,
};

export interface Workflows extends RunContext {
  readonly chores: (everyMs: number) => readonly Chore[];
}

export function openWorkflows(context: OperationsContext & { readonly sql: Sql; readonly logger: Logger }): Workflows {
  const { sql, logger } = context;
  return {
    sql,
    logger,
    blocks: blockTypes(blockOperations(context)),
    async notify(caller, message, key) {
      try {
        await sendNotification(context.sending, caller, message, key);
      } catch (error) {
        logger.warn({ err: error, org_id: caller.orgId }, 'nobody was told that a run waits for an approval');
      }
    },
    chores: (everyMs) => [
      {
        name: 'failing of crashed workflow runs',
        everyMs: Math.min(CRASHED_EVERY_MS, everyMs),
        async run() {
          const failed = await failSilentRuns(sql, SILENT_MS, CRASHED);
          if (failed > 0) logger.warn({ runs: failed }, 'workflow runs of ended processes were marked as failed');
        },
      },
      { name: 'removal of old workflow runs', everyMs, run: () => deleteOldRuns(sql, RUNS_KEPT_MS) },
    ],
  };
}
