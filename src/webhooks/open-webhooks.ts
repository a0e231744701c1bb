import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import { openAddressGuard } from '../platform/outbound/address-guard.ts';
import { openGuardedAgent } from '../platform/outbound/guarded-agent.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { deleteOldDeliveries } from './delivery-store.ts';
import { deletePreviousSecrets } from './endpoint-store.ts';
import { noteQuotas } from './quota-events.ts';
import { sendDue } from './send-due.ts';
import { openWebhookMetrics } from './webhook-metrics.ts';
import type { WebhooksContext } from './webhooks.ts';

const SEND_EVERY_MS = 1_000;
const CONNECTIONS_MAX = 8;
const CONNECT_MS = 10_000;
const DAY_MS = 24 * 3_600_000;
/** Retention of finished deliveries. A monthly event must be kept beyond its month, to be written only once. */
const KEPT = { deliveredMs: 7 * DAY_MS, failedMs: 30 * DAY_MS, onceMs: 40 * DAY_MS };
const ROWS_SWEPT_MAX = 10_000;

/** Outbound webhooks: endpoints, and delivery of events to them. */
export interface Webhooks extends WebhooksContext {
  readonly chores: (everyMs: number) => readonly Chore[];
  close(): Promise<void>;
}

export function openWebhooks(context: {
  readonly config: Pick<Config, 'webhooks' | 'plans'>;
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
}): Webhooks {
  const { config, sql, keyRing, logger } = context;
  const metrics = openWebhookMetrics(context.metrics.registry);
  const guard = openAddressGuard(config.webhooks.networks);
  const agent = openGuardedAgent({ guard, connectionsMax: CONNECTIONS_MAX, connectMs: CONNECT_MS });
  return {
    sql,
    keyRing,
    guard,
    chores: (everyMs) => [
      {
        name: 'sending of webhooks',
        everyMs: Math.min(everyMs, SEND_EVERY_MS),
        run: (signal) => sendDue({ sql, keyRing, agent, logger, metrics }, signal),
      },
      {
        name: 'events of quotas and removal of old deliveries of webhooks',
        everyMs,
        async run(signal) {
          await noteQuotas(sql, config.plans);
          await deletePreviousSecrets(sql);
          for (let rows = ROWS_SWEPT_MAX; rows === ROWS_SWEPT_MAX && !signal.aborted; ) {
            rows = await deleteOldDeliveries(sql, KEPT, ROWS_SWEPT_MAX);
          }
        },
      },
    ],
    close: () => agent.destroy(),
  };
}
