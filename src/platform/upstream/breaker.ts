export type BreakerState = 'closed' | 'half-open' | 'open';

export interface BreakerOptions {
  /** Number of consecutive failures that open the breaker. */
  readonly failuresMax?: number;
  /** Initial time for which the breaker stays open. It doubles each time the probe fails. */
  readonly openMs?: number;
  readonly openMsMax?: number;
  /** Monotonic clock in milliseconds. */
  readonly now?: () => number;
  readonly onState?: (state: BreakerState) => void;
}

/** Permission to make one call. Call exactly one of its methods, once. */
export interface Permit {
  /** Report that the upstream answered, even if it rejected the call. */
  succeeded(): void;
  failed(): void;
  /** Report that the outcome is unknown because the caller gave up. */
  abandoned(): void;
}

/**
 * Circuit breaker: blocks calls to an upstream after consecutive failures. After its time is over, an open breaker
 * permits a single probe. A successful probe closes the breaker; a failed one opens it for twice as long.
 */
export class Breaker {
  readonly #failuresMax: number;
  readonly #openMsMin: number;
  readonly #openMsMax: number;
  readonly #now: () => number;
  readonly #onState: (state: BreakerState) => void;
  #state: BreakerState = 'closed';
  #failures = 0;
  #openMs: number;
  #probeAtMs = 0;
  readonly #closedPermit: Permit;

  constructor(options: BreakerOptions = {}) {
    this.#failuresMax = options.failuresMax ?? 5;
    this.#openMsMin = options.openMs ?? 10_000;
    this.#openMsMax = options.openMsMax ?? 60_000;
    this.#now = options.now ?? (() => performance.now());
    this.#onState = options.onState ?? (() => {});
    this.#openMs = this.#openMsMin;
    this.#closedPermit = {
      succeeded: () => {
        if (this.#state === 'closed') this.#failures = 0;
      },
      failed: () => {
        // Ignore the failure of a call that started before the breaker opened.
        if (this.#state === 'closed' && ++this.#failures >= this.#failuresMax) this.#open();
      },
      abandoned: () => {},
    };
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Return the milliseconds until the next call may be permitted; 0 if a call may be permitted now. */
  waitMs(): number {
    if (this.#state === 'closed') return 0;
    if (this.#state === 'half-open') return this.#openMs;
    return Math.max(0, this.#probeAtMs - this.#now());
  }

  /** @returns null while the breaker is open or a probe is in progress */
  enter(): Permit | null {
    if (this.#state === 'closed') return this.#closedPermit;
    if (this.#state === 'half-open' || this.#now() < this.#probeAtMs) return null;
    this.#become('half-open');
    return {
      succeeded: () => {
        this.#failures = 0;
        this.#openMs = this.#openMsMin;
        this.#become('closed');
      },
      failed: () => {
        this.#openMs = Math.min(this.#openMs * 2, this.#openMsMax);
        this.#open();
      },
      // The next call becomes the probe.
      abandoned: () => this.#become('open'),
    };
  }

  #open(): void {
    this.#probeAtMs = this.#now() + this.#openMs;
    this.#become('open');
  }

  #become(state: BreakerState): void {
    this.#state = state;
    this.#onState(state);
  }
}
