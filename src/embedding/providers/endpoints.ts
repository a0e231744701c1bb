import type { Secret } from '../../platform/secret.ts';

/** One credential at one base URL of a vendor. */
export interface EndpointSettings {
  /** How logs and errors name it; its key is never shown. */
  readonly name: string;
  readonly apiKey: Secret | null;
  readonly weight: number;
}

export interface EndpointsOptions {
  /** Monotonic, in milliseconds. */
  readonly now?: () => number;
  readonly onCooldown?: (name: string, cause: 'refused' | 'failing', cooldownMs: number) => void;
}

const REFUSED = { firstMs: 60_000, maxMs: 600_000 } as const;
const FAILING = { firstMs: 1_000, maxMs: 30_000 } as const;
/** Transient failures in a row that make an endpoint rest. */
const FAILURES_MAX = 3;

interface Cooldown {
  untilMs: number;
  /** Length of the next one; doubled by each that is not followed by a success. */
  nextMs: number;
}

interface Seat<Endpoint> {
  readonly endpoint: Endpoint;
  /** Credit of the smooth weighted round robin. */
  credit: number;
  failures: number;
  readonly refused: Cooldown;
  readonly failing: Cooldown;
  /** The vendor asked to be left alone until then. */
  restUntilMs: number;
}

export interface Choice<Endpoint> {
  readonly endpoint: Endpoint;
  /** How long the vendor still wants it to rest; 0 unless every endpoint rests. */
  readonly waitMs: number;
}

/**
 * The endpoints of one vendor: each gets its share of the calls by weight (smooth weighted round robin, as nginx has
 * it), except while it cools down after a refusal or a run of failures.
 */
export class Endpoints<Endpoint extends EndpointSettings> {
  readonly #seats: readonly Seat<Endpoint>[];
  readonly #now: () => number;
  readonly #onCooldown: NonNullable<EndpointsOptions['onCooldown']>;

  constructor(endpoints: readonly Endpoint[], options: EndpointsOptions = {}) {
    this.#now = options.now ?? (() => performance.now());
    this.#onCooldown = options.onCooldown ?? (() => {});
    this.#seats = endpoints.map((endpoint) => ({
      endpoint,
      credit: 0,
      failures: 0,
      refused: { untilMs: 0, nextMs: REFUSED.firstMs },
      failing: { untilMs: 0, nextMs: FAILING.firstMs },
      restUntilMs: 0,
    }));
  }

  /**
   * An endpoint that is ready, one that this call has not tried yet if there is any; while all of them cool down the
   * one that is ready first.
   *
   * @returns null while every endpoint is refused
   */
  choose(tried: ReadonlySet<Endpoint> | null = null): Choice<Endpoint> | null {
    const nowMs = this.#now();
    const ready = this.#seats.filter((seat) => readyAtMs(seat) <= nowMs);
    const fresh = tried ? ready.filter((seat) => !tried.has(seat.endpoint)) : ready;
    const seat = turnOf(fresh.length > 0 ? fresh : ready);
    if (seat) return { endpoint: seat.endpoint, waitMs: 0 };
    const accepted = this.#seats.filter((each) => each.refused.untilMs <= nowMs);
    const [first, ...others] = accepted;
    if (!first) return null;
    const soonest = others.reduce((best, each) => (readyAtMs(each) < readyAtMs(best) ? each : best), first);
    return { endpoint: soonest.endpoint, waitMs: Math.max(0, soonest.restUntilMs - nowMs) };
  }

  /** Whether `choose` has something ready that this call has not tried. */
  hasFresh(tried: ReadonlySet<Endpoint>): boolean {
    const nowMs = this.#now();
    return this.#seats.some((seat) => readyAtMs(seat) <= nowMs && !tried.has(seat.endpoint));
  }

  /** Milliseconds until a refused endpoint may be tried again. */
  refusedForMs(): number {
    const untilMs = Math.min(...this.#seats.map((seat) => seat.refused.untilMs));
    return Math.max(0, untilMs - this.#now());
  }

  /** It answered, were it only that the input is at fault. */
  succeeded(endpoint: Endpoint): void {
    const seat = this.#seatOf(endpoint);
    seat.failures = 0;
    seat.failing.nextMs = FAILING.firstMs;
    seat.refused.nextMs = REFUSED.firstMs;
  }

  /** The vendor does not accept its credential, or its account. */
  refused(endpoint: Endpoint): void {
    this.#coolDown(this.#seatOf(endpoint), 'refused', REFUSED.maxMs);
  }

  /** @param restMs how long the vendor asked to be left alone, where it did */
  failed(endpoint: Endpoint, restMs: number | null): void {
    const seat = this.#seatOf(endpoint);
    if (restMs !== null) seat.restUntilMs = Math.max(seat.restUntilMs, this.#now() + restMs);
    if (++seat.failures >= FAILURES_MAX) this.#coolDown(seat, 'failing', FAILING.maxMs);
  }

  #coolDown(seat: Seat<Endpoint>, cause: 'refused' | 'failing', maxMs: number): void {
    const cooldown = seat[cause];
    const nowMs = this.#now();
    // Calls that were under way together fail together; that is one failure.
    if (cooldown.untilMs > nowMs) return;
    cooldown.untilMs = nowMs + cooldown.nextMs;
    this.#onCooldown(seat.endpoint.name, cause, cooldown.nextMs);
    cooldown.nextMs = Math.min(cooldown.nextMs * 2, maxMs);
  }

  #seatOf(endpoint: Endpoint): Seat<Endpoint> {
    const seat = this.#seats.find((each) => each.endpoint === endpoint);
    if (!seat) throw new Error(`no endpoint ${endpoint.name}`);
    return seat;
  }
}

function readyAtMs(seat: Seat<EndpointSettings>): number {
  return Math.max(seat.refused.untilMs, seat.failing.untilMs, seat.restUntilMs);
}

/** Whose turn it is: everyone gains its weight, the richest goes and pays for all. */
function turnOf<Endpoint extends EndpointSettings>(seats: readonly Seat<Endpoint>[]): Seat<Endpoint> | null {
  let total = 0;
  let richest: Seat<Endpoint> | null = null;
  for (const seat of seats) {
    const { weight } = seat.endpoint;
    seat.credit += weight;
    total += weight;
    if (!richest || seat.credit > richest.credit) richest = seat;
  }
  if (richest) richest.credit -= total;
  return richest;
}
