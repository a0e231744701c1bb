import { z } from 'zod';
import { outboundUrlFault } from '../platform/outbound/outbound-url.ts';
import { textInteger } from '../platform/zod-integers.ts';

/** Event types. Database triggers write all of them except `quota` and `webhook` events. */
export const EVENT_TYPES = [
  'job.queued',
  'job.started',
  'job.ready',
  'job.failed',
  'job.cancelled',
  'document.created',
  'document.ready',
  'document.failed',
  'document.deleted',
  'source.syncing',
  'source.synced',
  'source.failed',
  'workflow_run.needs_approval',
  'workflow_run.decided',
  'workflow_run.completed',
  'workflow_run.failed',
  'quota.threshold',
] as const;

/** Test event, which every endpoint receives on request. */
export const TEST_EVENT = 'webhook.test';
export const QUOTA_EVENT = 'quota.threshold';

/** Event as received, without its id, which is in the header `webhook-id`. */
export interface WebhookEvent {
  readonly type: string;
  readonly occurredAt: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

const timestamp = z.iso.datetime();

const name = z
  .string()
  .trim()
  .min(1)
  .max(100)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), 'must not have control characters')
  .refine((text) => !text.startsWith('whk_'), 'must not start with "whk_"');

const address = z
  .string()
  .max(2_048)
  .superRefine((text, context) => {
    const url = URL.parse(text);
    const fault =
      url === null
        ? 'must be a URL such as https://example.com/hooks'
        : (outboundUrlFault(url) ?? (url.hash === '' ? null : 'must not have a fragment'));
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  })
  .describe('address to which events are posted');

const events = z
  .array(z.enum(EVENT_TYPES))
  .min(1)
  .max(EVENT_TYPES.length)
  .transform((types) => [...new Set(types)])
  .describe('types of the events that it gets');

export const NewWebhook = z.object({
  name,
  url: address,
  events: events.default([...EVENT_TYPES]).describe('types of the events that it gets; default: all'),
});
export type NewWebhook = z.output<typeof NewWebhook>;

/** Fields to change; absent fields stay unchanged. */
export const WebhookChange = z.object({
  name: name.optional(),
  url: address.optional(),
  events: events.optional(),
  enabled: z.boolean().optional().describe('false: it gets no events, and events that wait for delivery are dropped'),
});
export type WebhookChange = z.output<typeof WebhookChange>;

export const WebhookView = z
  .object({
    id: z.string(),
    name: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    enabled: z.boolean(),
    disabled_reason: z.string().nullable(),
    failing_since: timestamp.nullable().describe('first failure since the last success'),
    next_try_at: timestamp.nullable().describe('end of the pause of an endpoint that seems to be down'),
    previous_secret_until: timestamp.nullable().describe('time until which the previous secret also signs events'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Webhook' });
export type WebhookView = z.output<typeof WebhookView>;

/** New endpoint with its secret, which no other response shows. */
export const CreatedWebhook = WebhookView.extend({
  secret: z.string().describe('secret of the signatures; only this response shows it'),
}).meta({ id: 'CreatedWebhook' });
export type CreatedWebhook = z.output<typeof CreatedWebhook>;

export const OVERLAP_HOURS_MAX = 168;

export const RotateRequest = z
  .object({
    overlap_hours: z
      .number()
      .min(0)
      .max(OVERLAP_HOURS_MAX)
      .default(24)
      .describe('hours for which the previous secret also signs events'),
  })
  .prefault({});
export type RotateRequest = z.output<typeof RotateRequest>;

export const DELIVERY_STATUSES = ['pending', 'delivered', 'failed'] as const;

export const WebhookDelivery = z
  .object({
    id: z.string().describe('id of the event: the header webhook-id'),
    type: z.string(),
    object_id: z.string().describe('id of the object that the event is about; events of one object arrive in order'),
    status: z.enum(DELIVERY_STATUSES),
    tries: z.int(),
    reply_status: z.int().nullable().describe('HTTP status of the last reply'),
    error: z.string().nullable().describe('reason why the last attempt failed'),
    occurred_at: timestamp,
    tried_at: timestamp.nullable(),
    next_try_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    data: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.output<typeof WebhookDelivery>;

export const ListDeliveriesQuery = z.object({
  status: z.enum(DELIVERY_STATUSES).optional(),
  limit: textInteger(z.int().min(1).max(200).default(50)),
  cursor: z
    .string()
    .max(64)
    .regex(/^[\w-]*$/, 'must be the id of the last delivery of the previous page')
    .optional()
    .describe('id of the last delivery of the previous page')
    .transform((cursor) => cursor || undefined),
});
export type ListDeliveriesQuery = z.output<typeof ListDeliveriesQuery>;

export const ReplayRequest = z.object({
  since: z.iso.datetime({ offset: true }).describe('replay the failed deliveries of events that occurred since then'),
});
export type ReplayRequest = z.output<typeof ReplayRequest>;

/** Number of replayed deliveries. */
export const ReplayReply = z.object({ replayed: z.int().describe('number of deliveries that are sent again') });
