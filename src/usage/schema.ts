import { z } from 'zod';
import { PLANS } from '../access/caller.ts';

/** Axes of quotas and request rates (contract, section 8). */
export const AXES = ['embed', 'embed_batch', 'embed_image', 'answers'] as const;
export const Axis = z.enum(AXES);
export type Axis = z.infer<typeof Axis>;

/** Return the usage axis of a request by its number of texts. */
export function axisOf(texts: readonly unknown[]): Axis {
  return texts.length === 1 ? 'embed' : 'embed_batch';
}

/** Axes of request rates: those of quotas, and those that only limit rates. */
export type RateAxis = Axis | 'search' | 'upload';

const amount = z.int().min(0);

const AxisUsage = z.object({
  requests: amount,
  texts: amount,
  tokens: amount,
  images: amount,
  limit: amount.nullable().describe('texts (or images, or answers) a month on the plan; null: no limit'),
  remaining: amount.nullable().describe('remaining amount in the current calendar month; null: no limit'),
});

/** Usage of chat models: `texts` are questions. */
const AnswersUsage = AxisUsage.extend({
  tokens: amount.describe('tokens that the model read'),
  output_tokens: amount.describe('tokens that the model wrote'),
  price: z.number().nullable().describe('cost by the prices in the setting `answers`; null if none is set'),
});

/** Response of `GET /v1/usage/summary`. Only successful requests count. */
export const UsageSummary = z
  .object({
    object: z.literal('usage.summary'),
    org_id: z.string(),
    plan: z.enum(PLANS),
    period: z.object({
      start: z.iso.datetime(),
      end: z.iso.datetime().describe('the first moment after the period'),
    }),
    axes: z.object({
      embed: AxisUsage,
      embed_batch: AxisUsage,
      embed_image: AxisUsage,
      answers: AnswersUsage,
    } satisfies Record<Axis, typeof AxisUsage>),
    by_model: z
      .array(z.object({ model: z.string(), requests: amount, tokens: amount }))
      .describe('most tokens first; a request that used several models counts for each'),
    by_day: z
      .array(z.object({ date: z.iso.date(), tokens: amount, requests: amount }))
      .describe('UTC days with any use, in order'),
  })
  .meta({ id: 'UsageSummary' });
export type UsageSummary = z.infer<typeof UsageSummary>;

/** Sums of usage, with the fields that they are grouped by. */
export const UsageRow = z.object({
  day: z.iso.date().optional(),
  axis: Axis.optional(),
  model: z.string().optional(),
  internal: z.boolean().optional().describe('true: made by the service itself, for searches and documents'),
  requests: amount.describe('a request that used several models counts for each'),
  texts: amount,
  tokens: amount,
  images: amount,
  output_tokens: amount.optional().describe('tokens that chat models wrote, if any'),
});
export type UsageRow = z.output<typeof UsageRow>;

/** Sums of one key or user, with the name of the key or client or the user's email, if it still exists. */
export const ActorUsage = z.object({
  actor: z.string().describe('`key:<id>`, `user:<id>`, `grant:<id>`, `operator:<name>` or `channel:<id>`'),
  key_id: z.string().nullable().describe('null unless the row is a key'),
  name: z.string().nullable().describe('name of the key or client, or email of the user'),
  requests: amount,
  tokens: amount,
});
export type ActorUsage = z.output<typeof ActorUsage>;
