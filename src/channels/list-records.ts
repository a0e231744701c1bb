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
    outcome: DeliveryOutcome.nullable().describe('null if there is no reply'),
    duration_ms: z.number().nullable().describe('time until the reply; null if there is none'),
    texts: z.array(z.string()).describe('reply, kept for ten minutes; otherwise empty'),
  })
  .meta({ id: 'ChannelDelivery' });
export type DeliveryView = z.output<typeof DeliveryView>;

interface Page {
  readonly configId: string | undefined;
  readonly limit: number;
  readonly after: string | undefined;
}

/** List verified deliveries, newest first. The texts of users are not kept, and replies are kept for ten minutes. */
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

/** List notifications, newest first. Records stay for 90 days. */
export async function listNotifications(sql: Sql, orgId: string, page: Page): Promise<NotificationRecord[]> {
  const { configId = null, limit, after } = page;
  return selectNotifications(sql, orgId, { configId, rowsMax: limit, after });
}
