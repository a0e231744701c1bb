import { LRUCache } from 'lru-cache';
import type { Plan } from '../access/caller.ts';
import { findOrganization } from '../access/organizations.ts';
import type { Config } from '../platform/config.ts';
import { AppError, forbidden } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Axis } from './schema.ts';

export type PlanSettings = Config['plans'];

/** Return the plan's monthly quota, in units of the axis (`unitsOf`); null for no limit. */
export function quotaOf(plans: PlanSettings, plan: Plan, axis: Axis): number | null {
  return plans[plan]?.quotas[axis] ?? null;
}

/** Return the units of an axis that a use counts: images on `embed_image`, texts or answers on the others. */
export function unitsOf(
  axis: Axis,
  { texts, images = 0 }: { readonly texts: number; readonly images?: number },
): number {
  return axis === 'embed_image' ? images : texts;
}

/** Return true if any plan has a limit on the axis. */
export function isLimited(plans: PlanSettings, axis: Axis): boolean {
  return Object.values(plans).some((plan) => plan?.quotas[axis] !== undefined);
}

export function axisNotInPlan(plan: Plan, axis: Axis): AppError {
  return forbidden(`the plan "${plan}" does not include the axis "${axis}"`, 'axis_not_in_plan');
}

export function quotaExceeded(facts: {
  plan: Plan | null;
  /** API key that has the quota; absent for the plan's quota. */
  keyId?: string | null;
  axis: Axis;
  limit: number;
  remaining: number;
  requested: number;
  resetsAtMs: number;
}): AppError {
  const { plan, keyId, axis, limit, remaining, requested } = facts;
  const unit = axis === 'embed_image' ? 'images' : axis === 'answers' ? 'answers' : 'texts';
  const resetsAt = new Date(facts.resetsAtMs).toISOString();
  return new AppError({
    code: 'quota_exceeded',
    status: 402,
    message:
      `${keyId ? 'this key' : `the plan "${plan}"`} has ${limit} ${unit} a month on the axis "${axis}"; ` +
      `this request needs ${requested} and ${remaining} are left until ${resetsAt}`,
    details: { axis, ...(keyId ? { key_id: keyId } : { plan }), limit, remaining, requested, resets_at: resetsAt },
  });
}

const PLANS_MAX = 10_000;
const PLAN_CACHE_MS = 1_000;

/** Open a look-up of organizations' plans that caches each result for a second from the start of the look-up. */
export function openPlanLookUp(sql: Sql): (orgId: string) => Promise<Plan> {
  const plans = new LRUCache<string, Promise<Plan>>({ max: PLANS_MAX, ttl: PLAN_CACHE_MS, ttlResolution: 0 });
  return (orgId) => {
    const cached = plans.get(orgId);
    if (cached) return cached;
    const plan = findOrganization(sql, orgId).then((organization) => organization.plan);
    plans.set(orgId, plan);
    plan.catch(() => {
      if (plans.peek(orgId) === plan) plans.delete(orgId);
    });
    return plan;
  };
}
