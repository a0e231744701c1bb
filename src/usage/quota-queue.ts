import { AppError } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { type CounterKey, lockCounter, reserveUnits, updateCounter } from './store.ts';

/** Result of a reservation: granted, or refused with the remaining units. */
export type Grant = { readonly granted: true } | { readonly granted: false; readonly remaining: number };

interface Waiter {
  readonly amount: number;
  resolve(grant: Grant): void;
  reject(error: unknown): void;
}

const WAITERS_MAX = 10_000;
const GRANTED: Grant = { granted: true };

/**
 * Queue of reservations of monthly units. A counter is one row, so PostgreSQL serialises its changes. Therefore a
 * process runs one statement per counter at a time, and the next statement reserves for all requests that arrived
 * meanwhile. A busy organization thus uses one connection of the pool, not all.
 */
export class QuotaQueue {
  readonly #sql: Sql;
  /** Counters with a pending statement, and the requests that wait for the next statement. */
  readonly #waiting = new Map<string, Waiter[]>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Reserve all of `amount` or nothing. Requests are served in order. One that exceeds the limit doesn't block others.
   * @throws AppError `overloaded` (503), and errors of `sql`, after which it is unknown if the units count as used
   */
  reserve(counter: CounterKey, limit: number, amount: number): Promise<Grant> {
    const { orgId, keyId, month, axis } = counter;
    const key = `${orgId} ${keyId ?? ''} ${month} ${axis} ${limit}`;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { amount, resolve, reject };
      const waiters = this.#waiting.get(key);
      if (waiters === undefined) {
        this.#waiting.set(key, []);
        void this.#serve(key, counter, limit, [waiter]);
      } else if (waiters.length < WAITERS_MAX) {
        waiters.push(waiter);
      } else {
        const message = 'too many requests of this organization are waiting for its quota; try again';
        reject(new AppError({ code: 'overloaded', status: 503, message, retryable: true }));
      }
    });
  }

  async #serve(key: string, counter: CounterKey, limit: number, first: Waiter[]): Promise<void> {
    for (let batch = first; batch.length > 0; ) {
      try {
        await reserveBatch(this.#sql, counter, limit, batch);
      } catch (error) {
        for (const waiter of batch) waiter.reject(error);
      }
      batch = this.#waiting.get(key) ?? [];
      if (batch.length > 0) this.#waiting.set(key, []);
      else this.#waiting.delete(key);
    }
  }
}

async function reserveBatch(sql: Sql, counter: CounterKey, limit: number, batch: readonly Waiter[]): Promise<void> {
  const sum = batch.reduce((total, { amount }) => total + amount, 0);
  if (await reserveUnits(sql, counter, sum, limit)) {
    for (const waiter of batch) waiter.resolve(GRANTED);
    return;
  }
  const grants = await inTransaction(sql, async (tx) => {
    const before = await lockCounter(tx, counter);
    let used = before;
    const answers = batch.map((waiter): [Waiter, Grant] => {
      if (used + waiter.amount > limit) return [waiter, { granted: false, remaining: Math.max(0, limit - used) }];
      used += waiter.amount;
      return [waiter, GRANTED];
    });
    if (used !== before) await updateCounter(tx, counter, used);
    return answers;
  });
  for (const [waiter, grant] of grants) waiter.resolve(grant);
}
