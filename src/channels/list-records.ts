import { z } from 'zod';
import type { Sql } from '../platform/postgres.ts';
import { type DeliveryRow, selectDeliveries } from './delivery-store.ts';
import { selectNotifications } from './notification-store.ts';
import { ChannelReply, DeliveryOutcome, type NotificationRecord } from './schema.ts';

const LaterStatus = z.enum(['waiting', 'sending', 'sent', 'failed', 'uncertain']);

/** Delivery as shown by `GET /v1/channels/deliveries`. */
export const DeliveryView = z
  .object({
    id: z.string(),
    channel_config_id: z.string(),
    received_at: z.iso.datetime(),
    status: z.enum(['answered', 'in_progress', 'abandoned']),
    outcome: DeliveryOutcome.nullable().describe('null if there is no reply'),
    duration_ms: z.number().nullable().describe('time until the reply; null if there is none'),
    later_status: LaterStatus.nullable().describe(
      'state of a reply that the service sends to the platform afterwards; null if there is none',
    ),
    later_reason: z.string().nullable().describe('reason for the last failure to send that reply'),
    texts: z.array(z.string()).describe('reply, kept for ten minutes; otherwise empty'),
  })
  .meta({ id: 'ChannelDelivery' });
export type DeliveryView = z.output<typeof DeliveryView>;

interface Page {
  readonly configId: string | undefined;
  readonly limit: number;
  readonly after: string | undefined;
}

/** List verified deliveries, newest first. Users' texts are not kept, and replies are kept for ten minutes. */
export async function listDeliveries(sql: Sql, orgId: string, page: Page): Promise<DeliveryView[]> {
  const rows = await selectDeliveries(sql, orgId, page);
  return rows.map(({ id, configId, receivedAt, outcome, answeredAt, reply, isClaimed, later }) => ({
    id,
    channel_config_id: configId,
    received_at: receivedAt.toISOString(),
    status: statusOf({ outcome, isClaimed, later }),
    outcome,
    duration_ms: answeredAt === null ? null : answeredAt.getTime() - receivedAt.getTime(),
    later_status: later && (later.isUncertain ? 'uncertain' : later.status),
    later_reason: later?.reason ?? null,
    texts: reply === null ? [] : ChannelReply.parse(JSON.parse(reply)).template.outputs.map((o) => o.simpleText.text),
  }));
}

function statusOf({ outcome, isClaimed, later }: Pick<DeliveryRow, 'outcome' | 'isClaimed' | 'later'>) {
  if (outcome !== null) return 'answered';
  return isClaimed || later?.status === 'waiting' ? 'in_progress' : 'abandoned';
}

/** List notifications, newest first. Records are kept for 90 days. */
export async function listNotifications(sql: Sql, orgId: string, page: Page): Promise<NotificationRecord[]> {
  const { configId = null, limit, after } = page;
  return selectNotifications(sql, orgId, { configId, rowsMax: limit, after });
}
