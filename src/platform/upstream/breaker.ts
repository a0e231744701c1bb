export type BreakerState = 'closed' | 'half-open' | 'open';

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly failuresMax?: number;
  /** How long it stays open the first time; doubled each time that the probe fails. */
  readonly openMs?: number;
  readonly openMsMax?: number;
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
  readonly onState?: (state: BreakerState) => void;
}

/** Leave to make one call. Settle it exactly once. */
export interface Permit {
  /** The upstream works, whatever it thought of this call. */
  succeeded(): void;
  failed(): void;
  /** Nobody waited for the outcome. */
  abandoned(): void;
}

/**
 * Circuit breaker: keeps calls from an upstream that fails again and again. Open, it lets one single probe through
 * when its time is over; the probe's outcome closes it, or opens it for twice as long.
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
        // A call from before it opened says nothing new.
        if (this.#state === 'closed' && ++this.#failures >= this.#failuresMax) this.#open();
      },
      abandoned: () => {},
    };
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Milliseconds until a call may be let through; 0 where it may be now. */
  waitMs(): number {
    if (this.#state === 'closed') return 0;
    if (this.#state === 'half-open') return this.#openMs;
    return Math.max(0, this.#probeAtMs - this.#now());
  }

  /** @returns null while it is open, or while a probe is under way */
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
      // The next call is the probe instead.
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
