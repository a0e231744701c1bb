import type { Plan } from './caller.ts';

/** Priority of the bulk jobs of an organization, by plan. 0 is served first. */
export const BULK_PRIORITY_BY_PLAN: Readonly<Record<Plan, number>> = {
  enterprise: 0,
  business: 1,
  pro: 2,
  paid: 2,
  starter: 2,
  free: 3,
};
