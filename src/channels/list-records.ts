import { z } from 'zod';
import type { Sql } from '../platform/postgres.ts';
import { selectDeliveries } from './delivery-store.ts';
import { selectNotifications } from './notification-store.ts';
import { ChannelReply, DeliveryOutcome, type NotificationRecord } from './schema.ts';

/** Delivery of the messenger as `GET /v1/channels/deliveries` shows it. */
export const DeliveryView = z
  .object({
    id: z.string(),
    channel_config_id: z.string(),
    received_at: z.iso.datetime(),
    status: z.enum(['answered', 'in_progress', 'abandoned']),
    outcome: DeliveryOutcome.nullable().describe('null without a reply'),
    duration_ms: z.number().nullable().describe('time until the reply; null without one'),
    texts: z.array(z.string()).describe('the reply, for ten minutes; empty afterwards, and without one'),
  })
  .meta({ id: 'ChannelDelivery' });
export type DeliveryView = z.output<typeof DeliveryView>;

interface Page {
  readonly configId: string | undefined;
  readonly limit: number;
  readonly after: string | undefined;
}

/**
 * List verified deliveries, newest first. What users wrote is not kept, and the replies are for ten minutes only.
 */
export async function listDeliveries(sql: Sql, orgId: string, page: Page): Promise<DeliveryView[]> {
  const rows = await selectDeliveries(sql, orgId, page);
  return rows.map(({ id, configId, receivedAt, outcome, answeredAt, reply, isClaimed }) => ({
    id,
    channel_config_id: configId,
    received_at: receivedAt.toISOString(),
    status: outcome !== null ? 'answered' : isClaimed ? 'in_progress' : 'abandoned',
    outcome,
    duration_ms: answeredAt === null ? null : answeredAt.getTime() - receivedAt.getTime(),
    texts: reply === null ? [] : ChannelReply.parse(JSON.parse(reply)).template.outputs.map((o) => o.simpleText.text),
  }));
}

/** List notifications, newest first. Records are kept for 90 days. */
export async function listNotifications(sql: Sql, orgId: string, page: Page): Promise<NotificationRecord[]> {
  const { configId = null, limit, after } = page;
  return selectNotifications(sql, orgId, { configId, rowsMax: limit, after });
}
