import type { Plan } from '../access/caller.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { bookingDay, nextMonthMs } from './calendar.ts';
import type { UsedModel } from './ledger.ts';
import { axisNotInPlan, type PlanSettings, quotaExceeded, quotaOf } from './quotas.ts';
import type { Axis } from './schema.ts';
import { addUsage, deleteReservation, insertReservation, lockCounter, reserveUnits } from './store.ts';

/**
 * Reserve `amount` texts (images on `embed_image`), under the id of the work, for work that outlives its request and
 * that any process may end. Run this in the transaction that creates the work. Without a limit on the axis no units are
 * reserved, but the usage still counts once when the work ends.
 *
 * @throws AppError `quota_exceeded` (402), `axis_not_in_plan` (403)
 */
export async function bookReservation(
  tx: Sql,
  plans: PlanSettings,
  reservation: {
    readonly id: string;
    readonly account: { readonly orgId: string; readonly plan: Plan; readonly actor?: string };
    readonly axis: Axis;
    readonly amount: number;
  },
  nowMs: number = Date.now(),
): Promise<void> {
  const { id, account, axis, amount } = reservation;
  const { orgId, plan, actor = null } = account;
  const { day, month } = bookingDay(nowMs);
  const limit = quotaOf(plans, plan, axis);
  if (limit === 0) throw axisNotInPlan(plan, axis);
  if (limit !== null) {
    const key = { orgId, axis, month };
    if (!(await reserveUnits(tx, key, amount, limit))) {
      const remaining = Math.max(0, limit - (await lockCounter(tx, key)));
      throw quotaExceeded({ plan, axis, limit, remaining, requested: amount, resetsAtMs: nextMonthMs(nowMs) });
    }
  }
  await insertReservation(tx, { id, orgId, axis, day, actor, units: limit === null ? 0 : amount });
}

/**
 * Settle a reservation with the actual usage: book it as one request on the day of the reservation, and release the
 * remaining units. Without usage, release all units and book no request. Run this in the transaction that ends the
 * work. Only the first call for an id has an effect.
 *
 * @returns true if the reservation existed
 */
export function settleBooked(sql: Sql, id: string, used: readonly UsedModel[]): Promise<boolean> {
  return inTransaction(sql, async (tx) => {
    const reservation = await deleteReservation(tx, id);
    if (reservation === null) return false;
    const { orgId, axis, day, actor } = reservation;
    let units = 0;
    const rows = used.map(({ model, texts, tokens, images = 0 }, index) => {
      units += axis === 'embed_image' ? images : texts;
      return {
        orgId,
        day,
        axis,
        model,
        internal: false,
        requests: 1,
        requestsLed: index === 0 ? 1 : 0,
        texts,
        tokens,
        images,
      };
    });
    const change = { orgId, axis, month: `${day.slice(0, 7)}-01`, units: units - reservation.units };
    const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
    const actors = actor === null || rows.length === 0 ? [] : [{ orgId, day, actor, requests: 1, tokens }];
    await addUsage(tx, { rows, counters: change.units === 0 ? [] : [change], actors });
    return true;
  });
}
