import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { AppError } from '../platform/errors.ts';

/** Sources that are counted at once; the one that was quiet for longest is forgotten first. */
const SOURCES_MAX = 10_000;

interface Allowance {
  left: number;
  countedAtMs: number;
}

/**
 * Brake on guessing credentials. Refusals are counted by source, which is an address or the id of a key. Beyond its
 * allowance each further refusal of a source is answered late. Valid credentials are never delayed, so that nobody is kept
 * out by the failures of another caller behind the same address.
 */
export class FailedLogins {
  readonly #perMinute: number;
  readonly #waitMs: number;
  readonly #waitingMax: number;
  readonly #allowances = new LRUCache<string, Allowance>({ max: SOURCES_MAX });
  #waiting = 0;

  /**
   * @param settings.perMinute refusals of one source in a minute that are answered at once
   * @param settings.waitMs delay of every further one
   * @param settings.waitingMax refusals of all sources that are delayed at the same time; more are answered with 429
   */
  constructor({
    perMinute,
    waitMs = 1_000,
    waitingMax = 500,
  }: { perMinute: number; waitMs?: number; waitingMax?: number }) {
    this.#perMinute = perMinute;
    this.#waitMs = waitMs;
    this.#waitingMax = waitingMax;
  }

  /**
   * Count a refusal, and wait if one of its sources has used up its allowance.
   *
   * @param signal ends the wait
   * @throws AppError `too_many_failed_logins` (429) if too many refusals wait already
   */
  async brake(sources: readonly string[], signal: () => AbortSignal): Promise<void> {
    // Each source is counted, also if an earlier one is over its allowance.
    const isOver = sources.map((source) => this.#take(source)).includes(false);
    if (!isOver) return;
    if (this.#waiting >= this.#waitingMax) throw tooMany();
    this.#waiting++;
    try {
      await delay(this.#waitMs, undefined, { signal: signal() });
    } catch {
      // The client has left, or the server stops: the refusal is answered, or dropped, without further delay.
    } finally {
      this.#waiting--;
    }
  }

  /** Take one from the allowance of a source, which fills up over a minute. Returns false if there is none left. */
  #take(source: string): boolean {
    const nowMs = performance.now();
    const known = this.#allowances.get(source) ?? { left: this.#perMinute, countedAtMs: nowMs };
    const refilled = ((nowMs - known.countedAtMs) / 60_000) * this.#perMinute;
    const left = Math.min(this.#perMinute, known.left + refilled);
    const isLeft = left >= 1;
    this.#allowances.set(source, { left: isLeft ? left - 1 : left, countedAtMs: nowMs });
    return isLeft;
  }
}

function tooMany(): AppError {
  return new AppError({
    code: 'too_many_failed_logins',
    status: 429,
    message: 'too many requests with credentials that are not accepted; wait a minute, and check the key or token',
    retryable: true,
    retryAfterSeconds: 60,
  });
}
