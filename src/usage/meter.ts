import { setTimeout as delay } from 'node:timers/promises';
import type { Plan } from '../access/caller.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import { bookingDay, nextMonthMs } from './calendar.ts';
import { type Booking, UsageLedger, type UsedModel } from './ledger.ts';
import { QuotaQueue } from './quota-queue.ts';
import { axisNotInPlan, isLimited, openPlanLookUp, type PlanSettings, quotaExceeded, quotaOf } from './quotas.ts';
import { AXES, type Axis } from './schema.ts';
import { deleteOldFlushes } from './store.ts';

export type { UsedModel } from './ledger.ts';

/** Whose usage it is. A plan that is not given is looked up (1 s cache), where plans matter on the axis. */
export interface Account {
  readonly orgId: string;
  readonly plan?: Plan;
}

/** Room for one request. The first of `settle` and `release` counts; every later call of either does nothing. */
export interface Reservation {
  /**
   * The request succeeded. One entry per model that was used; what was reserved beyond their sum is given back with
   * the next flush. Numbers are integers >= 0. The request counts on the first model for the axis and the day.
   *
   * @throws TypeError for numbers that could not be booked
   */
  settle(used: readonly UsedModel[]): void;
  /**
   * The request failed: nothing is counted. Resolves when the units can be reserved again, or after a second at most
   * where the database does not answer, which then gets them later; it never rejects.
   */
  release(): Promise<void>;
}

export interface Meter {
  /**
   * Take `amount` texts (images on `embed_image`) of the organization's month, all or nothing. Without a limit on the
   * axis this is synchronous and asks no database; the usage still counts, from the next flush on, so that a later
   * limit sees it.
   *
   * With a limit the units count in PostgreSQL from here on, whichever process asks. A process that is killed before
   * `settle` or `release` leaves them counted until the month ends: a limit is never overshot, but a crash may cost
   * what was under way. The same holds for a connection that is lost during the reservation.
   *
   * @throws AppError `quota_exceeded` (402), `axis_not_in_plan` (403), `postgres_unavailable` (503),
   *   `organization_not_found` (404) where the plan is looked up; TypeError for an amount that is no integer >= 0
   */
  reserve(
    account: Account,
    axis: Axis,
    amount: number,
    options?: { internal?: boolean },
  ): Reservation | Promise<Reservation>;
  /**
   * Write what was settled and given back in this process so far.
   *
   * @throws what the database does; nothing is lost by it
   */
  flush(): Promise<void>;
  /** Flushes at least every second while the database is up; `stop` flushes what is left. */
  readonly service: Service;
}

/** Twice as often as promised, so that a second holds a pause and a slow write. */
const FLUSH_EVERY_MS = 500;
/** Sums of that many organizations, days, axes and models: some 60 MB. */
const KEYS_MAX = 200_000;
const LAST_FLUSH_MS = 10_000;
const RELEASE_MS = 1000;

export function openMeter(settings: {
  sql: Sql;
  plans: PlanSettings;
  logger: Logger;
  /** Milliseconds since 1970. */
  now?: () => number;
  keysMax?: number;
}): Meter {
  const { sql, plans, logger, now = Date.now } = settings;
  const ledger = new UsageLedger({ sql, logger, keysMax: settings.keysMax ?? KEYS_MAX });
  const quotas = new QuotaQueue(sql);
  const planOf = openPlanLookUp(sql);
  const planMatters = new Set(AXES.filter((axis) => isLimited(plans, axis)));

  async function reserveLimited(booking: Booking, plan: Plan, limit: number, amount: number): Promise<Reservation> {
    const { orgId, axis, date } = booking;
    const grant = await quotas.reserve({ orgId, axis, month: date.month }, limit, amount);
    if (grant.granted) return new Booked(ledger, booking, amount);
    const resetsAtMs = nextMonthMs(Date.parse(date.day));
    throw quotaExceeded({ plan, axis, limit, remaining: grant.remaining, requested: amount, resetsAtMs });
  }

  function reserveOn(booking: Booking, plan: Plan, amount: number): Reservation | Promise<Reservation> {
    const limit = quotaOf(plans, plan, booking.axis);
    if (limit === null) return new Booked(ledger, booking, 0);
    if (limit === 0) throw axisNotInPlan(plan, booking.axis);
    return reserveLimited(booking, plan, limit, amount);
  }

  return {
    reserve(account, axis, amount, options) {
      assertAmount(amount);
      ledger.assertRoom();
      const { orgId, plan } = account;
      const booking: Booking = { orgId, axis, date: bookingDay(now()), internal: options?.internal ?? false };
      if (!planMatters.has(axis)) return new Booked(ledger, booking, 0);
      if (plan !== undefined) return reserveOn(booking, plan, amount);
      return planOf(orgId).then((found) => reserveOn(booking, found, amount));
    },
    flush: () => ledger.flush(),
    service: flushService(sql, ledger, logger),
  };
}

class Booked implements Reservation {
  readonly #ledger: UsageLedger;
  readonly #booking: Booking;
  /** Already in the month's counter. */
  readonly #reserved: number;
  #isOver = false;

  constructor(ledger: UsageLedger, booking: Booking, reserved: number) {
    this.#ledger = ledger;
    this.#booking = booking;
    this.#reserved = reserved;
  }

  settle(used: readonly UsedModel[]): void {
    if (this.#isOver) return;
    let units = 0;
    for (const { texts, tokens, images = 0 } of used) {
      assertAmount(texts);
      assertAmount(tokens);
      assertAmount(images);
      units += this.#booking.axis === 'embed_image' ? images : texts;
    }
    this.#isOver = true;
    this.#ledger.add(this.#booking, used);
    this.#ledger.count(this.#booking, units - this.#reserved);
  }

  async release(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#reserved === 0) return;
    this.#ledger.count(this.#booking, -this.#reserved);
    const flushed = this.#ledger.flush().catch(() => undefined); // logged there, and tried again
    const waited = new AbortController();
    await Promise.race([flushed, delay(RELEASE_MS, undefined, { signal: waited.signal }).catch(() => undefined)]);
    waited.abort();
  }
}

function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError(`not an amount of usage: ${amount}`);
}

function flushService(sql: Sql, ledger: UsageLedger, logger: Logger): Service {
  const loop = repeatingTask('usage ledger', FLUSH_EVERY_MS, logger, () => ledger.flush().catch(() => undefined));
  return {
    name: 'usage ledger',
    async start(signal) {
      await deleteOldFlushes(sql);
      await loop.start(signal);
    },
    async stop() {
      const deadline = AbortSignal.timeout(LAST_FLUSH_MS);
      const expired = new Promise<never>((_, reject) => {
        deadline.addEventListener('abort', () => reject(deadline.reason), { once: true });
      });
      try {
        await Promise.race([loop.stop().then(() => ledger.flush()), expired]);
      } catch (error) {
        logger.error({ err: error, unwritten: ledger.unwritten() }, 'the last usage could not be written and is lost');
      }
    },
  };
}
