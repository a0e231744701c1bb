import { AppError } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { type CounterKey, lockCounter, reserveUnits, updateCounter } from './store.ts';

/** Whether the units were reserved; where not, how many are left. */
export type Grant = { readonly granted: true } | { readonly granted: false; readonly remaining: number };

interface Waiter {
  readonly amount: number;
  resolve(grant: Grant): void;
  reject(error: unknown): void;
}

const WAITERS_MAX = 10_000;
const GRANTED: Grant = { granted: true };

/**
 * Reserves units of monthly counters. One counter is one row, and PostgreSQL lets its changes through one by one; so a
 * process has one statement per counter under way, and those that come meanwhile are reserved together by the next.
 * A busy organization thus holds one connection of the pool, not all of them.
 */
export class QuotaQueue {
  readonly #sql: Sql;
  /** Counters with a statement under way, and who waits for the next. */
  readonly #waiting = new Map<string, Waiter[]>();

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Reserve all of `amount` or nothing; first come, first served, except that what does not fit is passed over.
   *
   * @throws AppError `overloaded` (503), and what `sql` does: then it is unknown whether the units count as used
   */
  reserve(counter: CounterKey, limit: number, amount: number): Promise<Grant> {
    const key = `${counter.orgId} ${counter.month} ${counter.axis} ${limit}`;
    return new Promise((resolve, reject) => {
      const waiter: Waiter = { amount, resolve, reject };
      const waiters = this.#waiting.get(key);
      if (waiters === undefined) {
        this.#waiting.set(key, []);
        void this.#serve(key, counter, limit, [waiter]);
      } else if (waiters.length < WAITERS_MAX) {
        waiters.push(waiter);
      } else {
        reject(new AppError({ code: 'overloaded', status: 503, message: 'too many requests wait', retryable: true }));
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
