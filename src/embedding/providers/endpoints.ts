/** One credential at one base URL of a vendor. */
export interface EndpointSettings {
  /** Name in logs and errors, which never show the key. */
  readonly name: string;
  readonly weight: number;
}

export interface EndpointsOptions {
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
  readonly onCooldown?: (name: string, cause: 'refused' | 'failing', cooldownMs: number) => void;
}

const REFUSED = { firstMs: 60_000, maxMs: 600_000 } as const;
const FAILING = { firstMs: 1_000, maxMs: 30_000 } as const;
/** Consecutive transient failures after which an endpoint cools down. */
const FAILURES_MAX = 3;

interface Cooldown {
  untilMs: number;
  /** Length of the next cooldown. It doubles with each cooldown unless a call succeeds in between. */
  nextMs: number;
}

interface EndpointState<Endpoint> {
  readonly endpoint: Endpoint;
  /** Credit of the smooth weighted round robin. */
  credit: number;
  failures: number;
  readonly refused: Cooldown;
  readonly failing: Cooldown;
  /** Time before which the vendor asked us not to retry. */
  retryAtMs: number;
}

export interface Choice<Endpoint> {
  readonly endpoint: Endpoint;
  /** Wait that the vendor asked for before the call; 0 unless all endpoints are cooling down. */
  readonly waitMs: number;
}

/**
 * Endpoints of one vendor. Calls are distributed by weight (smooth weighted round robin, as in nginx). An endpoint
 * cools down after a refusal, after repeated failures, and for as long as the vendor asks. It gets calls only if all
 * others cool down, too, and never after a refusal.
 */
export class Endpoints<Endpoint extends EndpointSettings> {
  readonly #states: readonly EndpointState<Endpoint>[];
  readonly #now: () => number;
  readonly #onCooldown: NonNullable<EndpointsOptions['onCooldown']>;

  constructor(endpoints: readonly Endpoint[], options: EndpointsOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#onCooldown = options.onCooldown ?? (() => {});
    this.#states = endpoints.map((endpoint) => ({
      endpoint,
      credit: 0,
      failures: 0,
      refused: { untilMs: 0, nextMs: REFUSED.firstMs },
      failing: { untilMs: 0, nextMs: FAILING.firstMs },
      retryAtMs: 0,
    }));
  }

  /**
   * Choose a ready endpoint, preferably one that this call has not tried. While all of them cool down, choose the
   * endpoint that is ready first.
   *
   * @returns null while every endpoint is refused
   */
  choose(tried: ReadonlySet<Endpoint> | null = null): Choice<Endpoint> | null {
    const nowMs = this.#now();
    const ready = this.#states.filter((state) => readyAtMs(state) <= nowMs);
    const fresh = tried ? ready.filter((state) => !tried.has(state.endpoint)) : ready;
    const state = nextByWeight(fresh.length > 0 ? fresh : ready);
    if (state) return { endpoint: state.endpoint, waitMs: 0 };
    const accepted = this.#states.filter((each) => each.refused.untilMs <= nowMs);
    const [first, ...others] = accepted;
    if (!first) return null;
    const soonest = others.reduce((earliest, each) => (readyAtMs(each) < readyAtMs(earliest) ? each : earliest), first);
    return { endpoint: soonest.endpoint, waitMs: Math.max(0, soonest.retryAtMs - nowMs) };
  }

  /** Return true if a ready endpoint remains that this call has not tried. */
  hasFresh(tried: ReadonlySet<Endpoint>): boolean {
    const nowMs = this.#now();
    return this.#states.some((state) => readyAtMs(state) <= nowMs && !tried.has(state.endpoint));
  }

  /** Return the milliseconds until a refused endpoint may be tried again. */
  refusedForMs(): number {
    const untilMs = Math.min(...this.#states.map((state) => state.refused.untilMs));
    return Math.max(0, untilMs - this.#now());
  }

  /** Record that the endpoint answered, even with a refusal of the input. */
  succeeded(endpoint: Endpoint): void {
    const state = this.#stateOf(endpoint);
    state.failures = 0;
    state.failing.nextMs = FAILING.firstMs;
    state.refused.nextMs = REFUSED.firstMs;
  }

  /** Record that the vendor rejects the endpoint's credential or account. */
  refused(endpoint: Endpoint): void {
    this.#coolDown(this.#stateOf(endpoint), 'refused', REFUSED.maxMs);
  }

  /** Record a transient failure. @param retryAfterMs wait that the vendor asked for, or null */
  failed(endpoint: Endpoint, retryAfterMs: number | null): void {
    const state = this.#stateOf(endpoint);
    if (retryAfterMs !== null) state.retryAtMs = Math.max(state.retryAtMs, this.#now() + retryAfterMs);
    if (++state.failures >= FAILURES_MAX) this.#coolDown(state, 'failing', FAILING.maxMs);
  }

  #coolDown(state: EndpointState<Endpoint>, cause: 'refused' | 'failing', maxMs: number): void {
    const cooldown = state[cause];
    const nowMs = this.#now();
    // Concurrent calls that fail together count as one failure.
    if (cooldown.untilMs > nowMs) return;
    cooldown.untilMs = nowMs + cooldown.nextMs;
    this.#onCooldown(state.endpoint.name, cause, cooldown.nextMs);
    cooldown.nextMs = Math.min(cooldown.nextMs * 2, maxMs);
  }

  #stateOf(endpoint: Endpoint): EndpointState<Endpoint> {
    const state = this.#states.find((each) => each.endpoint === endpoint);
    if (!state) throw new Error(`no endpoint ${endpoint.name}`);
    return state;
  }
}

function readyAtMs(state: EndpointState<EndpointSettings>): number {
  return Math.max(state.refused.untilMs, state.failing.untilMs, state.retryAtMs);
}

/**
 * Choose by smooth weighted round robin. Every endpoint gains its weight in credit. The endpoint with the most credit
 * is chosen and loses the sum of the weights.
 */
function nextByWeight<Endpoint extends EndpointSettings>(
  states: readonly EndpointState<Endpoint>[],
): EndpointState<Endpoint> | null {
  let total = 0;
  let best: EndpointState<Endpoint> | null = null;
  for (const state of states) {
    const { weight } = state.endpoint;
    state.credit += weight;
    total += weight;
    if (!best || state.credit > best.credit) best = state;
  }
  if (best) best.credit -= total;
  return best;
}
