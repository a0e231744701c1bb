import { setTimeout as delay } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/** Maximum number of sources counted. The least recently refused one is forgotten first. */
const SOURCES_MAX = 10_000;

export interface RefusalBrakeSettings {
  /** Number of consecutive refusals of one source that are sent without delay. */
  readonly burst: number;
  /** Rate at which a source regains its allowance. */
  readonly perSecond: number;
  /** Delay of every further refusal. */
  readonly waitMs?: number;
  /** Maximum number of delayed refusals, for all sources. */
  readonly waitingMax?: number;
}

interface Allowance {
  left: number;
  countedAtMs: number;
}

/**
 * Brake on senders whose requests are refused repeatedly. It counts refusals by source. Beyond a source's allowance,
 * each further refusal is answered late, so that a sender that waits for the response sends less.
 */
export class RefusalBrake {
  readonly #settings: Required<RefusalBrakeSettings>;
  readonly #allowances = new LRUCache<string, Allowance>({ max: SOURCES_MAX });
  #waiting = 0;

  constructor(settings: RefusalBrakeSettings) {
    this.#settings = { waitMs: 1_000, waitingMax: 500, ...settings };
  }

  /**
   * Count a refusal, and wait if one of its sources has used up its allowance. Return false immediately if too many
   * refusals are waiting.
   * @param signal ends the wait
   */
  async brake(sources: readonly string[], signal: () => AbortSignal): Promise<boolean> {
    // Count each source, even if an earlier one is over its allowance.
    const isOver = sources.map((source) => this.#take(source)).includes(false);
    if (!isOver) return true;
    const { waitMs, waitingMax } = this.#settings;
    if (this.#waiting >= waitingMax) return false;
    this.#waiting++;
    try {
      await delay(waitMs, undefined, { signal: signal() });
    } catch {
      // The client has disconnected or the server is stopping. Don't delay the refusal any longer.
    } finally {
      this.#waiting--;
    }
    return true;
  }

  /** Take one from the allowance of a source. Return false if none is left. */
  #take(source: string): boolean {
    const { burst, perSecond } = this.#settings;
    const nowMs = performance.now();
    const known = this.#allowances.get(source) ?? { left: burst, countedAtMs: nowMs };
    const refilled = ((nowMs - known.countedAtMs) / 1_000) * perSecond;
    const left = Math.min(burst, known.left + refilled);
    const isLeft = left >= 1;
    this.#allowances.set(source, { left: isLeft ? left - 1 : left, countedAtMs: nowMs });
    return isLeft;
  }
}
