import { findOrganization } from '../access/organizations.ts';
import type { AnswerSettings } from '../platform/answer-settings.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Account } from './account.ts';
import { bookingDay, toDate, toPeriod } from './calendar.ts';
import { type PlanSettings, quotaOf } from './quotas.ts';
import type { Axis, UsageSummary } from './schema.ts';
import { selectCounters, selectUsage } from './store.ts';

/** Quotas of the plans, and the chat model's prices (null without one). */
export interface UsageSettings {
  readonly plans: PlanSettings;
  readonly answers: Pick<AnswerSettings, 'pricePerMillionInput' | 'pricePerMillionOutput'> | null;
}

/**
 * Summarize an organization's usage from `range.from` to before `range.to` (dates or ISO 8601 instants, widened to
 * whole UTC days; by default this calendar month), and its remaining quotas of the current month.
 *
 * @throws AppError `invalid_request` (400) for an invalid period, `organization_not_found` (404) if it looks up the
 *   plan
 */
export async function summarizeUsage(
  sql: Sql,
  { plans, answers }: UsageSettings,
  account: Account,
  range: { from?: string | undefined; to?: string | undefined } = {},
  nowMs: number = Date.now(),
): Promise<UsageSummary> {
  const { startMs, endMs } = toPeriod(range, nowMs);
  const { orgId } = account;
  const plan = account.plan ?? (await findOrganization(sql, orgId)).plan;
  const sums = await selectUsage(sql, orgId, toDate(startMs), toDate(endMs));
  const counters = await selectCounters(sql, orgId, bookingDay(nowMs).month);
  const sumsOf = (axis: Axis) => sums.byAxis.find((row) => row.axis === axis) ?? NOTHING;
  const usageOf = (axis: Axis) => {
    const { requests, texts, tokens, images } = sumsOf(axis);
    const limit = quotaOf(plans, plan, axis);
    const remaining = limit === null ? null : Math.max(0, limit - (counters.get(axis) ?? 0));
    return { requests, texts, tokens, images, limit, remaining };
  };
  return {
    object: 'usage.summary',
    org_id: orgId,
    plan,
    period: { start: new Date(startMs).toISOString(), end: new Date(endMs).toISOString() },
    axes: {
      embed: usageOf('embed'),
      embed_batch: usageOf('embed_batch'),
      embed_image: usageOf('embed_image'),
      answers: { ...usageOf('answers'), ...costOf(sumsOf('answers'), answers) },
    },
    by_model: [...sums.byModel],
    by_day: [...sums.byDay],
  };
}

const MILLION = 1_000_000;

function costOf(
  { tokens, output_tokens }: { readonly tokens: number; readonly output_tokens: number },
  prices: UsageSettings['answers'],
) {
  const { pricePerMillionInput: ofInput = null, pricePerMillionOutput: ofOutput = null } = prices ?? {};
  const isPriced = ofInput !== null || ofOutput !== null;
  const price = (tokens * (ofInput ?? 0) + output_tokens * (ofOutput ?? 0)) / MILLION;
  return { output_tokens, price: isPriced ? price : null };
}

const NOTHING = { requests: 0, texts: 0, tokens: 0, images: 0, output_tokens: 0 } as const;
