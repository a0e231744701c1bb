import { sendNotification } from '../channels/send-notification.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { blockOperations, type OperationsContext } from './block-operations.ts';
import { blockTypes } from './block-types.ts';
import type { RunContext } from './execute-run.ts';
import { UNCERTAIN } from './run-blocks.ts';
import { deleteOldRuns, failSilentRuns } from './run-store.ts';
import { queueScheduledStarts, runStarts } from './start-runs.ts';
import { deleteOldStarts } from './trigger-store.ts';
import type { TriggerContext } from './triggers.ts';

const CRASHED_EVERY_MS = 15_000;
/** Time without a heartbeat after which a run counts as crashed: six heartbeats. */
const SILENT_MS = 30_000;
const RUNS_KEPT_MS = 90 * 24 * 3_600_000;

const CRASHED = {
  run: 'the process that ran it ended; the service neither continues nor repeats the run',
  block: `the process ended while this block ran; ${UNCERTAIN}`,
};

/** Time within which a repeated request to start a workflow is recognised. */
const STARTS_KEPT_MS = 7 * 24 * 3_600_000;
const STARTS_EVERY_MS = 1_000;

export interface Workflows extends RunContext, TriggerContext {
  readonly chores: (everyMs: number) => readonly Chore[];
}

type Context = OperationsContext & {
  readonly sql: Sql;
  readonly logger: Logger;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly config: Pick<Config, 'baseUrl'>;
};

export function openWorkflows(context: Context): Workflows {
  const { sql, logger, keyRing } = context;
  const origin = context.config.baseUrl?.replace(/\/+$/, '') ?? null;
  const runs: RunContext = {
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
  };
  return {
    ...runs,
    keyRing,
    chores: (everyMs) => [
      {
        name: 'starting of workflows',
        everyMs: Math.min(STARTS_EVERY_MS, everyMs),
        async run(signal) {
          await queueScheduledStarts(runs);
          await runStarts({ ...runs, origin }, signal);
        },
      },
      { name: 'removal of old starts of workflows', everyMs, run: () => deleteOldStarts(sql, STARTS_KEPT_MS) },
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
