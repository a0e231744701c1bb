import { dependencyDown } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { BookingDay } from './calendar.ts';
import type { Axis } from './schema.ts';
import { type ActorRow, type CounterChange, type LedgerRow, type UsageBatch, writeUsage } from './store.ts';

export interface UsedModel {
  readonly model: string;
  readonly texts: number;
  readonly tokens: number;
  readonly images?: number;
  /** Tokens that a chat model wrote. */
  readonly outputTokens?: number;
}

/** Organization, axis and day on which a request is booked, fixed when it is accepted. */
export interface Booking {
  readonly orgId: string;
  readonly axis: Axis;
  readonly date: BookingDay;
  readonly internal: boolean;
  /** Key or user who sent the request, or null for work of the service. */
  readonly actor?: string | null;
  /** API key whose quotas the request counts against; null for none. */
  readonly keyId: string | null;
}

class Sums {
  readonly rows = new Map<string, LedgerRow>();
  readonly counters = new Map<string, CounterChange>();
  readonly actors = new Map<string, ActorRow>();

  get size(): number {
    return this.rows.size + this.counters.size + this.actors.size;
  }
}

/**
 * Usage of this process that is not yet in the database: sums in memory, which `flush` writes about every second. If a
 * batch cannot be written, the ledger keeps it and retries. Its sequence number lets the database recognise a batch
 * that it already has, so that a lost answer counts nothing twice.
 */
export class UsageLedger {
  readonly #sql: Sql;
  readonly #logger: Logger;
  readonly #keysMax: number;
  readonly #id = newId('ledger');
  #sequence = 0;
  #open = new Sums();
  /** Batch that the database has not confirmed. */
  #unconfirmed: { sums: Sums; batch: UsageBatch } | null = null;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #isDown = false;

  /** @param settings.keysMax maximum number of sums, at which `assertCapacity` refuses further requests */
  constructor(settings: { sql: Sql; logger: Logger; keysMax: number }) {
    this.#sql = settings.sql;
    this.#logger = settings.logger;
    this.#keysMax = settings.keysMax;
  }

  /**
   * Check that the sums of another request fit, so that unwritten usage cannot fill the memory, and no request is
   * served unmetered.
   *
   * @throws AppError `postgres_unavailable` (503)
   */
  assertCapacity(): void {
    if (this.#open.size + (this.#unconfirmed?.sums.size ?? 0) < this.#keysMax) return;
    throw dependencyDown('postgres', 'usage cannot be recorded right now; try again');
  }

  /** Book a successful request. */
  add(booking: Booking, used: readonly UsedModel[]): void {
    for (const [index, item] of used.entries()) {
      const row = this.#row(booking, item.model);
      const isRepeated = index > 0 && used.findIndex(({ model }) => model === item.model) < index;
      if (!isRepeated) row.requests++;
      if (index === 0) row.requestsLed++;
      row.texts += item.texts;
      row.tokens += item.tokens;
      row.images += item.images ?? 0;
      row.outputTokens += item.outputTokens ?? 0;
    }
  }

  /** Book a successful request for the key or user who sent it. */
  addActor({ orgId, actor, date }: Booking, used: readonly UsedModel[]): void {
    if (actor === undefined || actor === null) return;
    const { day } = date;
    const key = `${orgId} ${day} ${actor}`;
    let row = this.#open.actors.get(key);
    if (!row) {
      row = { orgId, day, actor, requests: 0, tokens: 0 };
      this.#open.actors.set(key, row);
    }
    row.requests++;
    for (const { tokens, outputTokens = 0 } of used) row.tokens += tokens + outputTokens;
  }

  /** Add `units`, which may be negative, to a month's counter of the organization of the booking, or of its key. */
  count(booking: Booking, units: number, keyId: string | null = null): void {
    if (units === 0) return;
    const { orgId, axis } = booking;
    const { month } = booking.date;
    const key = `${orgId} ${month} ${axis} ${keyId ?? ''}`;
    const counter = this.#open.counters.get(key);
    if (counter) counter.units += units;
    else this.#open.counters.set(key, { orgId, keyId, axis, month, units });
  }

  #row(booking: Booking, model: string): LedgerRow {
    const { orgId, axis, internal } = booking;
    const { day } = booking.date;
    const key = `${orgId} ${day} ${axis} ${internal} ${model}`;
    let row = this.#open.rows.get(key);
    if (!row) {
      const none = { requests: 0, requestsLed: 0, texts: 0, tokens: 0, images: 0, outputTokens: 0 };
      row = { orgId, day, axis, model, internal, ...none };
      this.#open.rows.set(key, row);
    }
    return row;
  }

  /**
   * Write all usage booked before this call. Calls during a pending flush share the next one.
   *
   * @throws errors of `sql`; the usage is kept
   */
  flush(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#write().finally(() => {
        this.#running = null;
      });
      return this.#running;
    }
    this.#next ??= this.#running
      .catch(() => undefined)
      .then(() => {
        this.#next = null;
        return this.flush();
      });
    return this.#next;
  }

  async #write(): Promise<void> {
    try {
      if (this.#unconfirmed !== null) await this.#writeBatch(this.#unconfirmed.batch);
      if (this.#open.size > 0) {
        const sums = this.#open;
        const batch: UsageBatch = {
          ledgerId: this.#id,
          sequence: ++this.#sequence,
          rows: [...sums.rows.values()],
          counters: [...sums.counters.values()].filter(({ units }) => units !== 0),
          actors: [...sums.actors.values()],
        };
        this.#unconfirmed = { sums, batch };
        this.#open = new Sums();
        await this.#writeBatch(batch);
      }
    } catch (error) {
      if (!this.#isDown)
        this.#logger.warn({ err: error }, 'usage could not be written; it is kept and will be written again later');
      this.#isDown = true;
      throw error;
    }
  }

  async #writeBatch(batch: UsageBatch): Promise<void> {
    await writeUsage(this.#sql, batch);
    this.#unconfirmed = null;
    if (this.#isDown) this.#logger.info('usage is being written again');
    this.#isDown = false;
  }

  /** Return the usage that an end of the process would lose now. */
  unwritten(): { requests: number; texts: number; tokens: number; images: number } {
    const total = { requests: 0, texts: 0, tokens: 0, images: 0 };
    for (const row of [...(this.#unconfirmed?.batch.rows ?? []), ...this.#open.rows.values()]) {
      total.requests += row.requestsLed;
      total.texts += row.texts;
      total.tokens += row.tokens;
      total.images += row.images;
    }
    return total;
  }
}
