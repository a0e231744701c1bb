import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { type PlanSettings, quotaOf } from '../usage/quotas.ts';
import { insertDelivery } from './delivery-store.ts';
import { type QuotaUser, selectQuotaUsers } from './quota-store.ts';
import { QUOTA_EVENT } from './schema.ts';

/** Percentages of a quota that trigger an event. */
const THRESHOLDS = [80, 100] as const;
const ROWS_MAX = 10_000;

/**
 * Write an event for each quota threshold reached this month, once per endpoint. Compare states instead of changes, so
 * that nothing is lost while no process runs.
 */
export async function noteQuotas(sql: Sql, plans: PlanSettings, now: Date = new Date()): Promise<void> {
  const month = `${now.toISOString().slice(0, 7)}-01`;
  for (const user of await selectQuotaUsers(sql, month, QUOTA_EVENT, ROWS_MAX)) {
    const limit = quotaOf(plans, user.plan, user.axis);
    if (limit === null || limit === 0) continue;
    for (const threshold of THRESHOLDS) {
      if (user.used * 100 < limit * threshold) break;
      await noteThreshold(sql, user, { threshold, limit });
    }
  }
}

async function noteThreshold(
  sql: Sql,
  { endpointId, orgId, axis, month, used }: QuotaUser,
  { threshold, limit }: { readonly threshold: number; readonly limit: number },
): Promise<void> {
  const objectId = `quota/${axis}/${month.slice(0, 7)}`;
  await insertDelivery(sql, {
    endpointId,
    id: newId('msg'),
    orgId,
    type: QUOTA_EVENT,
    objectId,
    data: { axis, month: month.slice(0, 7), threshold_percent: threshold, limit, used },
    onceKey: `${objectId}/${limit}/${threshold}`,
  });
}
