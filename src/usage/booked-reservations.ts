import type { Plan } from '../access/caller.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { type Account, keyIdOf } from './account.ts';
import { bookingDay, nextMonthMs } from './calendar.ts';
import type { UsedModel } from './ledger.ts';
import { axisNotInPlan, type PlanSettings, quotaExceeded, quotaOf, unitsOf } from './quotas.ts';
import type { Axis } from './schema.ts';
import {
  addUsage,
  type CounterChange,
  deleteReservation,
  insertReservation,
  lockCounter,
  reserveUnits,
} from './store.ts';

/**
 * Reserve `amount` texts (images on `embed_image`) for work that outlives its request and that any process may end. The
 * work's id identifies the reservation. Run this in the transaction that creates the work. Without a limit on the axis,
 * no units are reserved, but the usage still counts once when the work ends.
 *
 * @throws AppError `quota_exceeded` (402), `axis_not_in_plan` (403)
 */
export async function bookReservation(
  tx: Sql,
  plans: PlanSettings,
  reservation: {
    readonly id: string;
    readonly account: Account & { readonly plan: Plan };
    readonly axis: Axis;
    readonly amount: number;
  },
  nowMs: number = Date.now(),
): Promise<void> {
  const { id, account, axis, amount } = reservation;
  const { orgId, plan, actor = null } = account;
  const { day, month } = bookingDay(nowMs);
  const ofPlan = quotaOf(plans, plan, axis);
  if (ofPlan === 0) throw axisNotInPlan(plan, axis);
  /** Reserve the units of one counter. Return their number. */
  const reserve = async (keyId: string | null, limit: number | null): Promise<number> => {
    if (limit === null) return 0;
    const counter = { orgId, keyId, axis, month };
    if (await reserveUnits(tx, counter, amount, limit)) return amount;
    const remaining = Math.max(0, limit - (await lockCounter(tx, counter)));
    throw quotaExceeded({ plan, keyId, axis, limit, remaining, requested: amount, resetsAtMs: nextMonthMs(nowMs) });
  };
  const keyUnits = await reserve(keyIdOf(account), account.limits?.quotas?.[axis] ?? null);
  const units = await reserve(null, ofPlan);
  await insertReservation(tx, { id, orgId, axis, day, actor, keyId: keyIdOf(account), units, keyUnits });
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
      units += unitsOf(axis, { texts, images });
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
        outputTokens: 0,
      };
    });
    const month = `${day.slice(0, 7)}-01`;
    const changes: CounterChange[] = [{ orgId, keyId: null, axis, month, units: units - reservation.units }];
    const { keyId, keyUnits } = reservation;
    if (keyId !== null) changes.push({ orgId, keyId, axis, month, units: units - keyUnits });
    const tokens = rows.reduce((sum, row) => sum + row.tokens, 0);
    const actors = actor === null || rows.length === 0 ? [] : [{ orgId, day, actor, requests: 1, tokens }];
    await addUsage(tx, { rows, counters: changes.filter((change) => change.units !== 0), actors });
    return true;
  });
}
