import { setTimeout as delay } from 'node:timers/promises';
import type { Plan } from '../access/caller.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import { type Account, keyIdOf } from './account.ts';
import { bookingDay, nextMonthMs } from './calendar.ts';
import { type Booking, UsageLedger, type UsedModel } from './ledger.ts';
import { QuotaQueue } from './quota-queue.ts';
import {
  axisNotInPlan,
  isLimited,
  openPlanLookUp,
  type PlanSettings,
  quotaExceeded,
  quotaOf,
  unitsOf,
} from './quotas.ts';
import { AXES, type Axis } from './schema.ts';
import { deleteOldFlushes } from './store.ts';

export type { UsedModel } from './ledger.ts';

/** Reserved units of one request. Only the first call of `settle` or `release` has an effect. */
export interface Reservation {
  /**
   * Book a successful request, with one entry per model used. The next flush releases surplus reserved units. Numbers
   * are integers >= 0. The request counts once per axis and day, on the first model.
   *
   * @throws TypeError for other numbers
   */
  settle(used: readonly UsedModel[]): void;
  /**
   * Release all units of a failed request without counting it. Resolves when the units can be reserved again, or after
   * at most a second if the database doesn't answer. The release is then written later. Never rejects.
   */
  release(): Promise<void>;
}

export interface Meter {
  /**
   * Reserve `amount` texts (images on `embed_image`, answers on `answers`) of this month's quotas of the organization
   * and the key, all or nothing. Without a limit on the axis, this is synchronous and doesn't use the database. The
   * usage still counts from the next flush on, so that a later limit includes it.
   *
   * With a limit, the units count in PostgreSQL immediately, for all processes. If a process is killed before `settle`
   * or `release`, they stay counted until the month ends. Thus a limit is never exceeded, but a crash may waste the
   * units of pending requests. The same applies if the connection is lost during the reservation.
   *
   * @throws AppError `quota_exceeded` (402), `axis_not_in_plan` (403), `postgres_unavailable` (503),
   *   `organization_not_found` (404) if it looks up the plan; TypeError for an amount that is not an integer >= 0
   */
  reserve(
    account: Account,
    axis: Axis,
    amount: number,
    options?: { internal?: boolean },
  ): Reservation | Promise<Reservation>;
  /**
   * Write the usage that this process has settled and the units that it has released.
   *
   * @throws errors of the database; the usage is kept
   */
  flush(): Promise<void>;
  /** Service that flushes at least every second while the database is up. `stop` flushes the rest. */
  readonly service: Service;
}

/** Flush interval: half of the promised second, to leave room for a pause and a slow write. */
const FLUSH_EVERY_MS = 500;
/** Maximum number of sums by organization, day, axis and model. They take some 60 MB. */
const KEYS_MAX = 200_000;
const LAST_FLUSH_MS = 10_000;
const RELEASE_MS = 1000;

export function openMeter(settings: {
  sql: Sql;
  plans: PlanSettings;
  logger: Logger;
  /** Clock in milliseconds since 1970. */
  now?: () => number;
  keysMax?: number;
}): Meter {
  const { sql, plans, logger, now = Date.now } = settings;
  const ledger = new UsageLedger({ sql, logger, keysMax: settings.keysMax ?? KEYS_MAX });
  const quotas = new QuotaQueue(sql);
  const planOf = openPlanLookUp(sql);
  const limitedAxes = new Set(AXES.filter((axis) => isLimited(plans, axis)));

  async function take(booking: Booking, keyId: string | null, plan: Plan | null, limit: number, amount: number) {
    const { orgId, axis, date } = booking;
    const grant = await quotas.reserve({ orgId, keyId, axis, month: date.month }, limit, amount);
    if (grant.granted) return;
    const resetsAtMs = nextMonthMs(Date.parse(date.day));
    throw quotaExceeded({ plan, keyId, axis, limit, remaining: grant.remaining, requested: amount, resetsAtMs });
  }

  async function reserveLimited(booking: Booking, limits: Limits, amount: number): Promise<Reservation> {
    const { plan, ofPlan, ofKey } = limits;
    if (ofKey !== null) await take(booking, booking.keyId, null, ofKey, amount);
    const keyUnits = ofKey === null ? 0 : amount;
    if (ofPlan === null) return new MeteredReservation(ledger, booking, { units: 0, keyUnits });
    try {
      await take(booking, null, plan, ofPlan, amount);
    } catch (error) {
      await new MeteredReservation(ledger, booking, { units: 0, keyUnits }).release();
      throw error;
    }
    return new MeteredReservation(ledger, booking, { units: amount, keyUnits });
  }

  function reserveOn(booking: Booking, plan: Plan | null, ofKey: number | null, amount: number) {
    const ofPlan = plan === null ? null : quotaOf(plans, plan, booking.axis);
    if (ofPlan === 0) throw axisNotInPlan(plan as Plan, booking.axis);
    if (ofPlan === null && ofKey === null) return new MeteredReservation(ledger, booking, NOTHING_RESERVED);
    return reserveLimited(booking, { plan, ofPlan, ofKey }, amount);
  }

  return {
    reserve(account, axis, amount, options) {
      assertAmount(amount);
      ledger.assertCapacity();
      const { orgId, plan, actor = null } = account;
      const { internal = false } = options ?? {};
      const booking: Booking = { orgId, axis, date: bookingDay(now()), internal, actor, keyId: keyIdOf(account) };
      const ofKey = account.limits?.quotas?.[axis] ?? null;
      if (!limitedAxes.has(axis)) return reserveOn(booking, null, ofKey, amount);
      if (plan !== undefined) return reserveOn(booking, plan, ofKey, amount);
      return planOf(orgId).then((found) => reserveOn(booking, found, ofKey, amount));
    },
    flush: () => ledger.flush(),
    service: flushService(sql, ledger, logger),
  };
}

/** Monthly units of an organization's plan and of a key; null for no limit. */
interface Limits {
  readonly plan: Plan | null;
  readonly ofPlan: number | null;
  readonly ofKey: number | null;
}

/** Units already in the month's counters of an organization and its key. */
interface Reserved {
  readonly units: number;
  readonly keyUnits: number;
}

const NOTHING_RESERVED: Reserved = { units: 0, keyUnits: 0 };

class MeteredReservation implements Reservation {
  readonly #ledger: UsageLedger;
  readonly #booking: Booking;
  readonly #reserved: Reserved;
  #isOver = false;

  constructor(ledger: UsageLedger, booking: Booking, reserved: Reserved) {
    this.#ledger = ledger;
    this.#booking = booking;
    this.#reserved = reserved;
  }

  settle(used: readonly UsedModel[]): void {
    if (this.#isOver) return;
    let units = 0;
    for (const { texts, tokens, images = 0, outputTokens = 0 } of used) {
      assertAmount(texts);
      assertAmount(tokens);
      assertAmount(images);
      assertAmount(outputTokens);
      units += unitsOf(this.#booking.axis, { texts, images });
    }
    this.#isOver = true;
    this.#ledger.add(this.#booking, used);
    this.#ledger.addActor(this.#booking, used);
    this.#count(units);
  }

  /** Adjust the counters from the units reserved to those used. */
  #count(used: number): void {
    const { keyId } = this.#booking;
    this.#ledger.count(this.#booking, used - this.#reserved.units);
    if (keyId !== null) this.#ledger.count(this.#booking, used - this.#reserved.keyUnits, keyId);
  }

  async release(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#reserved.units === 0 && this.#reserved.keyUnits === 0) return;
    this.#count(0);
    const flushed = this.#ledger.flush().catch(() => undefined); // the ledger logs the error and retries
    const timeout = new AbortController();
    await Promise.race([flushed, delay(RELEASE_MS, undefined, { signal: timeout.signal }).catch(() => undefined)]);
    timeout.abort();
  }
}

function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0)
    throw new TypeError(`an amount of usage must be an integer >= 0, not ${amount}`);
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
