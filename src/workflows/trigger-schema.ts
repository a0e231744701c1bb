import { z } from 'zod';
import { scheduleFault } from '../memory/schedule.ts';

/** Name of the input with facts about what started the workflow. It is passed if the workflow declares it. */
export const EVENT_INPUT = 'event';

const timestamp = z.iso.datetime();

const mode = z
  .enum(['simulate', 'live'])
  .default('live')
  .describe('a live run waits for an approval of each side effect');

const schedule = z
  .string()
  .max(100)
  .superRefine((expression, context) => {
    const fault = scheduleFault(expression);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });

export const NewTrigger = z
  .object({
    schedule: schedule.optional().describe('cron expression of five fields, in UTC: starts at these times'),
    bucket: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('id or name of a bucket; each new document in it starts a run'),
    webhook: z.literal(true).optional().describe('signed requests start runs'),
    mode,
  })
  .superRefine(({ schedule, bucket, webhook }, context) => {
    if ([schedule, bucket, webhook].filter((each) => each !== undefined).length === 1) return;
    context.addIssue({ code: 'custom', message: 'must have exactly one of schedule, bucket and webhook' });
  });
export type NewTrigger = z.output<typeof NewTrigger>;

export const TriggerView = z
  .object({
    id: z.string(),
    workflow_id: z.string(),
    kind: z.enum(['schedule', 'webhook', 'document']),
    mode: z.enum(['simulate', 'live']),
    schedule: z.string().nullable(),
    next_start_at: timestamp.nullable(),
    bucket_id: z.string().nullable(),
    webhook_path: z.string().nullable().describe('path to which the signed requests are posted'),
    actor: z.string().describe('key or user whose rights the runs have'),
    last_started_at: timestamp.nullable(),
    last_error: z.string().nullable().describe('why the last start failed'),
    created_at: timestamp,
  })
  .meta({ id: 'WorkflowTrigger' });
export type TriggerView = z.output<typeof TriggerView>;

/** Trigger with its request secret, which is shown only once. */
export const CreatedTrigger = TriggerView.extend({
  secret: z
    .string()
    .nullable()
    .describe('secret of the signatures; only this response shows it; null for other kinds of triggers'),
}).meta({ id: 'CreatedWorkflowTrigger' });
export type CreatedTrigger = z.output<typeof CreatedTrigger>;

/** Body of a request that starts a workflow. Its fields become fields of the input `event`. */
export const StartEvent = z.record(z.string().max(200), z.json());

export const StartReply = z.object({
  accepted: z.boolean().describe('false if a request with this webhook-id was accepted before'),
});
